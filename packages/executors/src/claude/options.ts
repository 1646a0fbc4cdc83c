import type { StartSpec } from '@reveille/core';
import type { AcpOptions } from '../acp/options.ts';
import { mcpToolName, type Preset } from '../acp/presets.ts';
import type { ClaudeSdk } from './sdk.ts';

type Shared =
  | 'folder'
  | 'identityOf'
  | 'launch'
  | 'tools'
  | 'approve'
  | 'policy'
  | 'permits'
  | 'ownTools'
  | 'digest'
  | 'priceOf'
  | 'graces'
  | 'waits';

/** What the executor has of the world: the same as every agent that is a program of its own, and the SDK. */
export interface ClaudeOptions extends Pick<AcpOptions, Shared> {
  /** Null: it is not installed. */
  readonly sdk: () => Promise<ClaudeSdk | null>;
  /** What to do where it is not. */
  readonly install: string;
  /** Where the agent of a task keeps its sessions. */
  readonly transcripts: (spec: StartSpec) => string;
}

/** How it is started. Its arguments are the SDK's to choose. */
export const CLAUDE: Preset = {
  name: 'claude',
  title: 'Claude Code',
  programs: ['claude'],
  args: [],
  env: () => ({
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Whether and when to try again is decided where every backend's errors are known.
    CLAUDE_CODE_MAX_RETRIES: '2',
  }),
  jsonEnv: [],
  passes: [/^ANTHROPIC_/, /^CLAUDE_CODE_OAUTH_TOKEN$/],
  credentials: ['.claude/.credentials.json'],
  files: {},
  hosts: ['api.anthropic.com', 'console.anthropic.com', 'claude.ai', '*.claude.ai'],
  logins: [],
  install: 'npm install -g @anthropic-ai/claude-code',
  login: 'run `claude` once and log in, or set ANTHROPIC_API_KEY',
  toolName: mcpToolName,
  quirks: { midTurn: 'steers', resumes: true, mcp: 'http', usage: 'cumulative', reports: 'request' },
  memoryMb: 240,
};
