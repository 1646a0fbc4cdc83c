/** Whose agents can play the demo besides the scripted ones. */
export const DEMO_BACKENDS = ['claude', 'codex', 'gemini', 'copilot', 'opencode', 'builtin'] as const;
export type DemoBackend = (typeof DEMO_BACKENDS)[number];
