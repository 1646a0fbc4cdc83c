// The page's CSP forbids to make code out of text, and zod looks whether it may as soon as it is loaded: said before.
globalThis.__zod_globalConfig = { jitless: true };
