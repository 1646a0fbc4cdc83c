import { join } from 'node:path';
import type { HostLimits } from '@reveille/core';
import { usedByTree } from '@reveille/navigation/memory';
import { agentsOf } from '../compose/acp/executors.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';
import type { Place } from '../place/folder.ts';
import { freeNow } from './free.ts';
import { Gauge } from './gauge.ts';
import { keepNeeds, knownNeeds } from './needs.ts';

const MB = 2 ** 20;

export interface Machine {
  readonly gauge: Gauge;
  /** Null: everything may start. */
  readonly limits: HostLimits | null;
}

/** This machine, as the engine sees it. It has been looked at once when this resolves. */
export async function openMachine(config: Config, place: Place, log: Log): Promise<Machine> {
  const { enabled, reserveMb, maxLoad, minDiskMb, lookMs } = config.governor;
  const agents = agentsOf(place.home);
  const needs = join(place.home, 'needs.json');
  const folders = [place.home, ...(config.worktrees.home === null ? [] : [config.worktrees.home])];
  const gauge = new Gauge({
    lookMs,
    freeNow: () => freeNow(folders),
    living: () => agents.living(),
    usedByTree,
    learned: knownNeeds(needs),
    keep: (learned) => keepNeeds(needs, learned),
    failed: (error) => log.warn('the machine could not be looked at', { error: String(error) }),
  });
  await gauge.start();
  const limits = { reserveBytes: reserveMb * MB, maxLoad, minDiskBytes: minDiskMb * MB };
  return { gauge, limits: enabled ? limits : null };
}
