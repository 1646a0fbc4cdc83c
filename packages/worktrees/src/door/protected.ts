import { fold } from './names.ts';

/** A name that file tools do not write, wherever in the tree it is, nor anything beneath it. `*` stands for any characters. */
export interface ProtectedName {
  readonly pattern: string;
  /** A sentence that says what would happen. */
  readonly reason: string;
}

const CLAUDE = 'Claude Code runs what it names, without asking again.';
const MCP = 'Agents start the MCP servers it names.';
const VSCODE = 'VS Code can run programs from it when the folder is opened.';
const CURSOR = 'Cursor reads hooks, MCP servers and rules from it, and runs them.';
const HOOKS = "It is run by the person's own git, outside every sandbox.";
const EDITOR = 'The editor can run it when the folder is opened.';

/**
 * What a tool of the person (an agent, an editor, git, the shell) would run without being asked to. The project's own
 * code is not here, nor what a build or an install runs (`package.json`, `.npmrc`, CI files), nor words for agents
 * (`AGENTS.md`): it is work to be reviewed, and it runs in the sandbox first.
 */
export const PROTECTED_NAMES: readonly ProtectedName[] = [
  { pattern: '.claude/settings*.json', reason: CLAUDE },
  { pattern: '.claude/hooks', reason: CLAUDE },
  {
    pattern: '.claude/agents',
    reason: 'An agent definition can name hooks and MCP servers, and its own permissions.',
  },
  { pattern: '.claude/commands', reason: 'A command of Claude Code can run shell lines.' },
  { pattern: '.claude/skills', reason: 'A skill of Claude Code can name hooks and run its scripts.' },
  { pattern: '.claude/plugins', reason: CLAUDE },
  { pattern: '.claude/statusline*', reason: CLAUDE },
  { pattern: '.claude.json', reason: CLAUDE },
  { pattern: '.mcp.json', reason: MCP },
  { pattern: '.codex', reason: 'Codex reads commands, MCP servers and permissions from it.' },
  { pattern: '.gemini/settings.json', reason: MCP },
  { pattern: '.gemini/extensions', reason: MCP },
  { pattern: '.qwen/settings.json', reason: MCP },
  { pattern: '.opencode', reason: 'opencode loads plugins and commands from it.' },
  { pattern: 'opencode.json*', reason: MCP },
  { pattern: '.copilot', reason: MCP },
  { pattern: '.github/hooks', reason: 'Copilot runs the hooks in it.' },
  { pattern: '.roo/mcp.json', reason: MCP },
  { pattern: '.kiro/hooks', reason: 'Kiro runs the hooks in it.' },
  { pattern: '.kiro/settings', reason: MCP },
  { pattern: '.windsurf', reason: 'Windsurf runs hooks and workflows from it.' },
  { pattern: '.cursor', reason: CURSOR },
  { pattern: '.reveille', reason: 'Reveille reads commands, agents and limits from it.' },
  { pattern: 'reveille.json*', reason: 'Reveille reads commands, agents and limits from it.' },
  { pattern: '.vscode/settings.json', reason: VSCODE },
  { pattern: '.vscode/tasks.json', reason: VSCODE },
  { pattern: '.vscode/launch.json', reason: VSCODE },
  { pattern: '.vscode/mcp.json', reason: MCP },
  { pattern: '*.code-workspace', reason: VSCODE },
  { pattern: '.devcontainer', reason: 'Its initializeCommand runs on the host.' },
  { pattern: '.devcontainer.json', reason: 'Its initializeCommand runs on the host.' },
  { pattern: '.idea', reason: EDITOR },
  { pattern: '.zed', reason: EDITOR },
  { pattern: '.vimrc', reason: EDITOR },
  { pattern: '.nvimrc', reason: EDITOR },
  { pattern: '.exrc', reason: EDITOR },
  { pattern: '.nvim.lua', reason: EDITOR },
  { pattern: '.dir-locals*.el', reason: EDITOR },
  { pattern: '.envrc', reason: 'direnv runs it when a shell enters the folder.' },
  { pattern: '.husky', reason: HOOKS },
  { pattern: '.git-hooks', reason: HOOKS },
  { pattern: '.githooks', reason: HOOKS },
  { pattern: '.lefthook*', reason: HOOKS },
  { pattern: 'lefthook*.y*ml', reason: HOOKS },
  { pattern: 'lefthook*.toml', reason: HOOKS },
  { pattern: 'lefthook*.json', reason: HOOKS },
  { pattern: '.pre-commit-config.y*ml', reason: HOOKS },
];

/** Finds the entry of the table that a path falls under, or undefined. */
export type FindProtected = (names: readonly string[]) => ProtectedName | undefined;

export function compileProtected(table: readonly ProtectedName[]): FindProtected {
  const compiled = table.map((entry) => ({ entry, parts: entry.pattern.split('/').map(compilePart) }));
  return (names) => {
    const folded = names.map(fold);
    return compiled.find(({ parts }) => matchesAnywhere(parts, folded))?.entry;
  };
}

const matchesAnywhere = (parts: readonly RegExp[], names: readonly string[]): boolean =>
  names.some((_, start) => parts.every((part, i) => part.test(names[start + i] ?? '/')));

const compilePart = (part: string): RegExp =>
  new RegExp(
    `^${part
      .toLowerCase()
      .split('*')
      .map((text) => RegExp.escape(text))
      .join('.*')}$`,
    'su',
  );
