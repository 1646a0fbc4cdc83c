import type { Capabilities, Executor } from '@reveille/core';
import { AcpAgent } from './agent.ts';
import { Ledger } from './ledger.ts';
import type { AcpOptions } from './options.ts';
import type { Quirks } from './presets.ts';

/** Any agent that speaks the Agent Client Protocol. */
export function acpExecutor(options: AcpOptions): Executor {
  const ledger = new Ledger(options.folder, options.identityOf);
  const { midTurn } = options.preset.quirks;
  return {
    // Only what an agent announces counts; of an unknown one it is not known before it is asked.
    steers: midTurn === 'steers' || midTurn === 'unknown',
    capabilities: capabilitiesOf(options.preset.quirks),
    memoryBytes: options.preset.memoryMb * 2 ** 20,
    start: (spec) => new AcpAgent(spec, options, ledger),
    reap: (identity) => ledger.reap(identity),
  };
}

/** Of an agent of which nothing is known nothing is promised but what its protocol obliges it to. */
function capabilitiesOf({ midTurn, resumes, usage, reports, cost = false }: Quirks): Capabilities {
  const known = midTurn !== 'unknown';
  return {
    steer: midTurn === 'steers',
    resume: known && resumes,
    approve: known,
    usage: known && usage !== 'last',
    cost,
    reports,
  };
}
