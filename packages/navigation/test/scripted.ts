import { fileURLToPath } from 'node:url';

/** A server whose faults are asked for by name: see there. */
export const SCRIPTED = fileURLToPath(new URL('./scripted-server.mjs', import.meta.url));

const WORDS = ['Good', 'Crash', 'Hang', 'Garbage', 'Nonsense', 'Grow', 'Partial', 'Spy'];

/** Each word is defined in the one file, and used once in the other. */
export const goFiles: Readonly<Record<string, string>> = {
  'go.mod': 'module made\n',
  'all.go': `package all\n\n${WORDS.map((word) => `func ${word}() {}`).join('\n')}\n`,
  'use.go': `package all\n\nfunc use() { ${WORDS.map((word) => `${word}()`).join('; ')} }\n`,
};
