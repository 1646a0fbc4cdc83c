import type { Executor } from '@reveille/core';
import { Ledger } from '../acp/ledger.ts';
import { ClaudeAgent } from './agent.ts';
import { CLAUDE, type ClaudeOptions } from './options.ts';

/** Claude Code as a worker, by its Agent SDK. */
export function claudeExecutor(options: ClaudeOptions): Executor {
  const ledger = new Ledger(options.folder, options.identityOf);
  return {
    steers: true,
    // It has it at its next pause, or refuses it when the turn ends: there is always an answer.
    steerMs: 24 * 3_600_000,
    capabilities: { steer: true, resume: true, approve: true, usage: true, cost: true, reports: 'request' },
    memoryBytes: CLAUDE.memoryMb * 2 ** 20,
    start: (spec) => new ClaudeAgent(spec, options, ledger),
    reap: (identity) => ledger.reap(identity),
  };
}
