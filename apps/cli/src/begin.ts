import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Client, Health } from '@reveille/protocol';
import { z } from 'zod';
import type { Call } from './command/spec.ts';
import { reach } from './reach.ts';
import { say } from './say.ts';

interface Begun {
  readonly client: Client;
  /** Where whoever follows the work begins. */
  readonly lastEvent: number;
}

/** The daemon, for a command that starts work: what its person should know before that is said first, once. */
export async function beginWork(call: Pick<Call, 'io'>): Promise<Begun> {
  const { io } = call;
  const client = await reach(call);
  const health = await client.health();
  const { placeOf } = await import('@reveille/daemon/connect');
  for (const warning of untold(join(placeOf(io.env).home, 'clients', 'told.json'), health))
    say(io.err, `Warning: ${warning}`);
  return { client, lastEvent: health.lastEvent };
}

const Told = z.object({ startedAt: z.number(), warnings: z.array(z.string()) });

/** The warnings of this daemon that its person has not been told since it started. */
function untold(file: string, { startedAt, warnings = [] }: Health): readonly string[] {
  if (warnings.length === 0) return [];
  const told = readTold(file);
  const known = told?.startedAt === startedAt ? told.warnings : [];
  const fresh = warnings.filter((warning) => !known.includes(warning));
  if (fresh.length === 0) return [];
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ startedAt, warnings }), { mode: 0o600 });
  renameSync(draft, file);
  return fresh;
}

function readTold(file: string): z.infer<typeof Told> | null {
  try {
    return Told.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null; // nothing was told yet, or it cannot be read: it is told again
  }
}
