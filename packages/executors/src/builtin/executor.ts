import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Executor, StartSpec } from '@reveille/core';
import type { Caller, Orchestrator } from '@reveille/protocol';
import { priceAt, type Endpoint } from './endpoint.ts';
import { Life } from './life.ts';
import type { BuiltinRole } from './loop.ts';
import { Model } from './model.ts';
import type { BuiltinTool } from './tools.ts';

export interface BuiltinOptions {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  /** Where agents' sessions are written, and nobody else may look. */
  readonly folder: string;
  /** The operations as this agent may use them. */
  readonly connect: (caller: Caller) => Orchestrator;
  /** Its tools as they are now; asked before every step, so that what was taken from it is gone at once. */
  readonly toolsOf: (caller: Caller) => Promise<readonly BuiltinTool[]>;
  readonly roleOf: (spec: StartSpec) => Promise<BuiltinRole>;
  /** How long faults that pass are waited out here, before the engine does it. */
  readonly retryWithinMs?: number;
  readonly stallMs?: number;
  readonly killAfterMs?: number;
  readonly chance?: () => number;
}

const RETRY_WITHIN_MS = 45_000;
const STALL_MS = 300_000;
const KILL_AFTER_MS = 10_000;

/** Runs agents in this process, on any model of Anthropic, of an OpenAI-compatible endpoint or of Ollama (EXE1). */
export function builtinExecutor(options: BuiltinOptions): Executor {
  const { clock, endpoint, folder, stallMs = STALL_MS } = options;
  const model = new Model({ clock, endpoint, stallMs });
  return {
    steers: true,
    capabilities: {
      steer: true,
      resume: true,
      approve: false,
      usage: true,
      reports: 'request',
      cost: priceAt(endpoint, endpoint.model) !== null,
    },
    start(spec) {
      const { session, run, epoch } = spec;
      const caller = { kind: 'worker', session, run, epoch } as const;
      const token = spec.resume ?? run;
      const life = new Life(spec, {
        clock,
        model,
        chance: options.chance ?? Math.random,
        role: () => options.roleOf(spec),
        tools: () => options.toolsOf(caller),
        orchestrator: options.connect(caller),
        path: join(folder, `${fileName(token)}.jsonl`),
        retryWithinMs: options.retryWithinMs ?? RETRY_WITHIN_MS,
        killAfterMs: options.killAfterMs ?? KILL_AFTER_MS,
      });
      spec.report({ type: 'started', identity: null, resume: token });
      return life;
    },
    // Its agents live in this process and died with it.
    reap: async () => undefined,
  };
}

/** A token comes from our own rows, and is a run's id; whatever else it may be, it names no other folder. */
const fileName = (token: string): string => token.replaceAll(/[^\w-]/g, '_').slice(0, 100);

/** Sessions nobody has touched for so long belong to nobody any more. */
export async function forgetSessions(folder: string, olderThanMs: number, now = Date.now()): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.endsWith('.jsonl'))) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > olderThanMs) await rm(path, { force: true });
  }
}
