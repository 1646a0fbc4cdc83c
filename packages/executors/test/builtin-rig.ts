import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelServer, ModelStep } from '@reveille/model-server';
import type { BuiltinOptions } from '../src/builtin/index.ts';
import { builtinBackend } from './backends.ts';
import { Stand } from './stand.ts';

export const report = (output: string): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output },
});
export const look: ModelStep = { call: 'list_directory', input: { path: '.' } };

export interface Options extends Omit<Partial<BuiltinOptions>, 'endpoint'> {
  readonly endpoint?: Partial<BuiltinOptions['endpoint']>;
}

export async function open(options: Options = {}): Promise<{ stand: Stand; server: () => ModelServer }> {
  let server: ModelServer | null = null;
  const backend = builtinBackend('anthropic', { ...options, serving: (made) => (server = made) });
  return { stand: await Stand.open(backend), server: () => server! };
}

/** The files of the agents' sessions, in the order in which their runs began. */
export function sessions(stand: Stand): string[] {
  const folder = join(stand.folder, 'sessions');
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
}
