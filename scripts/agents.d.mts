export const AGENTS: Readonly<Record<'claude' | 'codex' | 'gemini' | 'copilot' | 'opencode', string>>;
export function folderOf(name: keyof typeof AGENTS): string;
export function installAgents(say?: (line: string) => void): Readonly<Record<string, string>>;
