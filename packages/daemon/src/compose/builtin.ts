import { join } from 'node:path';
import type { Executor, StartSpec } from '@reveille/core';
import {
  builtinExecutor,
  forgetSessions,
  type BuiltinRole,
  type Endpoint,
} from '@reveille/executors/builtin';
import { asLoopTools } from '@reveille/tools';
import type { CallerWorlds } from './caller-world.ts';
import type { World } from './parts.ts';

interface Rooms {
  readonly world: World;
  readonly worlds: CallerWorlds;
}

const FORGET_AFTER_MS = 30 * 86_400_000;

/** Our own agent, on this model: with each run's own tools, as its definition allows them. */
export function builtinOf({ world, worlds }: Rooms, endpoint: Endpoint): Executor {
  const { place, clock, connect, log } = world;
  const folder = join(place.home, 'sessions');
  forgetSessions(folder, FORGET_AFTER_MS).catch((error: unknown) => {
    log.warn('old sessions of agents could not be removed', { error: String(error) });
  });
  return builtinExecutor({
    endpoint,
    clock,
    folder,
    connect,
    toolsOf: async (caller) => asLoopTools(await worlds.of(caller).world()),
    roleOf: async (spec) => roleOf(spec),
  });
}

const NOBODY = 'You are an agent of Reveille. Do the task you are given, and report how it ended.';

/** Who it is; the model only if its task names one: names differ by vendor. */
const roleOf = ({ role, task: { model } }: StartSpec): BuiltinRole => ({
  system: role?.systemPrompt ?? NOBODY,
  model,
});
