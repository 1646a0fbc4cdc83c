import { join } from 'node:path';
import type { Executor, StartSpec } from '@reveille/core';
import {
  builtinExecutor,
  forgetSessions,
  priceOf,
  type BuiltinRole,
  type Endpoint,
} from '@reveille/executors/builtin';
import { asLoopTools } from '@reveille/tools';
import type { Config } from '../config/schema.ts';
import type { CallerWorlds } from './caller-world.ts';
import type { World } from './parts.ts';

interface Rooms {
  readonly world: World;
  readonly worlds: CallerWorlds;
}

const FORGET_AFTER_MS = 30 * 86_400_000;

/** Our own agent, if a model is configured for it: with each run's own tools, as its definition allows them. */
export function builtinOf({ world, worlds }: Rooms): Executor | null {
  const { config, place, clock, connect, log } = world;
  const endpoint = endpointOf(config);
  if (!endpoint) return null;
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

const KEYS = { anthropic: 'ANTHROPIC_API_KEY', openai: 'OPENAI_API_KEY' } as const;

/** Null: no model is configured. The key itself stays in the environment until a call is made. */
function endpointOf({ backends: { builtin }, prices }: Config): Endpoint | null {
  const { model, apiKeyEnv, price, ...rest } = builtin;
  if (model === null) return null;
  const { input, output, cached } = price;
  const own = input === null || output === null ? null : { input, output, cached };
  // What another asks for the same model, only the person knows.
  const ofVendor = builtin.provider in KEYS && builtin.baseUrl === null;
  const usual = builtin.provider in KEYS ? KEYS[builtin.provider as keyof typeof KEYS] : null;
  const keyName = apiKeyEnv ?? usual;
  return {
    ...rest,
    model,
    keyName,
    apiKey: () => (keyName === null ? undefined : process.env[keyName]),
    price: own,
    priceOf: (named) => (named === model ? own : null) ?? priceOf(named, prices, { table: ofVendor }),
  };
}

const NOBODY = 'You are an agent of Reveille. Do the task you are given, and report how it ended.';

/** Who it is; the model only if its task names one: names differ by vendor. */
const roleOf = ({ role, task: { model } }: StartSpec): BuiltinRole => ({
  system: role?.systemPrompt ?? NOBODY,
  model,
});
