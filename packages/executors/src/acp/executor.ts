import type { Executor } from '@reveille/core';
import { AcpAgent } from './agent.ts';
import { Ledger } from './ledger.ts';
import type { AcpOptions } from './options.ts';

/** Any agent that speaks the Agent Client Protocol. */
export function acpExecutor(options: AcpOptions): Executor {
  const ledger = new Ledger(options.folder, options.identityOf);
  const { midTurn } = options.preset.quirks;
  return {
    // Only what an agent announces counts; of an unknown one it is not known before it is asked.
    steers: midTurn === 'steers' || midTurn === 'unknown',
    start: (spec) => new AcpAgent(spec, options, ledger),
    reap: (identity) => ledger.reap(identity),
  };
}
