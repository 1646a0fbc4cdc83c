import type { Role } from '@reveille/core';
import { mcpToolName } from '../acp/presets.ts';

/** Which tools of its own do what a tool of the catalogue does. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  read_file: ['Read'],
  create_file: ['Write'],
  edit_file: ['Edit', 'NotebookEdit'],
  list_directory: ['Glob'],
  search_text: ['Grep'],
  run_command: ['Bash', 'BashOutput', 'KillShell'],
};

/** It works with what it knows best, so ours that do the same are kept from it. */
const WRITES = new Set(['Write', 'Edit', 'NotebookEdit']);

export interface ClaudeTools {
  /** The only ones of its own that it has: none that would start or schedule agents behind our back. */
  readonly tools: readonly string[];
  readonly disallowedTools: readonly string[];
}

/** What its definition allows, in its own names (AGT4). */
export function claudeTools(role: Role | null): ClaudeTools {
  const allowed = Object.entries(OWN).filter(([name]) => role === null || allows(role, name));
  const own = allowed.flatMap(([, tools]) => tools).filter((tool) => !role?.readOnly || !WRITES.has(tool));
  return {
    tools: [...new Set(['TodoWrite', ...own])],
    disallowedTools: Object.keys(OWN).map(mcpToolName),
  };
}

function allows({ tools, deniedTools }: Role, name: string): boolean {
  return matches(tools, name) && !matches(deniedTools, name);
}

const matches = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name,
  );
