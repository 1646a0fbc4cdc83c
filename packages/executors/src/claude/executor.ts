import type { Executor } from '@reveille/core';
import { ClaudeAgent, type ClaudeWorld } from './agent.ts';

/** Claude Code as a worker, by its Agent SDK. */
export function claudeExecutor(world: ClaudeWorld): Executor {
  return {
    steers: true,
    // It has it at its next pause, or refuses it when the turn ends: there is always an answer.
    steerMs: 24 * 3_600_000,
    capabilities: { steer: true, resume: true, approve: true, usage: true, cost: true },
    start: (spec) => new ClaudeAgent(spec, world),
    reap: (identity) => world.ledger.reap(identity),
  };
}
