import { createClient, ReveilleError, type Client, type Endpoint } from '@reveille/protocol';
import { placeOf } from '../place/folder.ts';
import { findDaemon } from './find.ts';
import { findOrStart } from './start.ts';

export interface ConnectOptions {
  /** Says where the daemon's folder is (REVEILLE_HOME, XDG_STATE_HOME, HOME); what it is started with. */
  readonly env?: NodeJS.ProcessEnv;
  /** Start one if none runs; on by default. */
  readonly start?: boolean;
  /** Settings for a daemon that has to be started. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Called by somebody else than the person: the credential of a session or a run. */
  readonly credential?: string;
  /** How long a daemon may take to answer. */
  readonly waitMs?: number;
  /** An attachment was lost for good. */
  readonly lost?: (error: unknown) => void;
}

const WAIT_MS = 30_000;

/**
 * A client of this user's daemon, which is started if need be. If the daemon dies later, the next call that can do no
 * harm by being made twice starts another.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const { env = process.env, flags = {}, waitMs = WAIT_MS, credential } = options;
  const place = placeOf(env);
  let isGone = (): boolean => false;
  const reach = async (): Promise<Endpoint> => {
    const deadline = performance.now() + waitMs;
    const found =
      options.start === false
        ? await findDaemon(place, deadline)
        : await findOrStart({ place, env, flags, deadline });
    if (!found)
      throw new ReveilleError('unreachable', 'No daemon runs. Start one with `reveille daemon start`.', {
        data: { carriedOut: 'no' },
      });
    ({ isGone } = found);
    return credential === undefined ? found : { ...found, token: credential };
  };
  const lost = options.lost ? { lost: options.lost } : {};
  return createClient({ ...(await reach()), ...lost, renew: reach, isGone: () => isGone() });
}
