import { isStoreError, type Orchestrator } from '@reveille/protocol';
import type { StartSpec } from '@reveille/core';
import type { Effects } from './effects.ts';
import type { Locks } from './locks.ts';
import type { Point } from './points.ts';

/** What the agents of a victim share. */
export interface World {
  readonly folder: string;
  readonly life: number;
  readonly effects: Effects;
  readonly locks: Locks;
  readonly point: (name: Point) => void;
  /** In [0, 1), by the seed. */
  readonly chance: () => number;
  /** The operations as the agent of this run may use them. */
  readonly orchestratorOf: (spec: StartSpec) => Orchestrator;
}

/** Small and good enough for choices of a test: mulberry32. */
export function chanceFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The children that a task's prompt asks for: `have it done by: shell:leaf inner:fan/blind:leaf,shell:leaf`. */
export function childrenIn(prompt: string): string[] {
  const [, list = ''] = prompt.split('have it done by: ');
  return list.split(' ').filter((child) => child !== '');
}

/** `inner:fan/blind:leaf,shell:leaf`: the agent, and what its own prompt asks for. */
export function childInput(child: string, key: string): { agentType: string; prompt: string; key: string } {
  const [agentType = '', grandchildren = ''] = child.split('/');
  const orders = grandchildren === '' ? 'do it' : `have it done by: ${grandchildren.replaceAll(',', ' ')}`;
  return { agentType, prompt: `${key} ${orders}`, key };
}

/** Makes a call again that a full or failing store could not take, as whoever wants something done would, until `over`. */
export async function patiently<T>(over: () => boolean, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isStoreError(error) || over()) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
