import { randomBytes } from 'node:crypto';
import { ReveilleError } from '@reveille/protocol';
import { z } from 'zod';
import { jsonOf, readPrivately, writePrivately } from './private-file.ts';

/** Made once for a place and kept. */
const Identity = z.object({
  /** Credentials of sessions and runs are made with it, so they outlive the daemon. */
  secret: z.string().regex(/^[0-9a-f]{64}$/),
  /** The name of this host for the engine: the same after a restart, whatever the network calls the machine. */
  host: z.string().min(1),
});
export type Identity = z.infer<typeof Identity>;

/** Called by the one daemon of the place. */
export const ownIdentity = (path: string): Identity => readIdentity(path) ?? make(path);

/** Null: there is none yet. */
export function readIdentity(path: string): Identity | null {
  const file = readPrivately(path);
  if (!file) return null;
  if (file.exposed) throw refused(path, 'can be read by others, so its secret is none');
  const parsed = Identity.safeParse(jsonOf(file.text));
  if (!parsed.success) throw refused(path, 'is damaged');
  return parsed.data;
}

function make(path: string): Identity {
  const made: Identity = {
    secret: randomBytes(32).toString('hex'),
    host: `host-${randomBytes(6).toString('hex')}`,
  };
  writePrivately(path, `${JSON.stringify(made)}\n`);
  return made;
}

/** Not repaired in silence: with another secret every chat would lose its session. */
function refused(path: string, why: string): ReveilleError {
  const words = `${path} ${why}. Delete it to go on with a new one; chats then have to open new sessions.`;
  return new ReveilleError('not_allowed', words, { data: { path } });
}
