import { createClient, isReveilleError, type Health } from '@reveille/protocol';
import { placeOf, type Place } from '../place/folder.ts';
import { findLock, type FoundLock } from '../place/lock-file.ts';
import { isAlive, readSupervision, type ProcessName, type SupervisionRecord } from '../supervision/record.ts';
import { endpointOf, untilGone } from './find.ts';

/** Who starts the daemon again if it dies, and how often that was needed. */
export interface SupervisionStatus extends Pick<SupervisionRecord, 'restarts' | 'gaveUp'> {
  /** `nobody`: it was switched off, or its supervisor was killed and has no successor yet. */
  readonly by: SupervisionRecord['by'];
  /** The process of our own supervisor. */
  readonly pid: number | null;
}

export type DaemonStatus = (
  | { readonly state: 'none'; readonly why: string }
  | { readonly state: 'running'; readonly url: string; readonly health: Health }
  /** It is there, but does not answer or speaks another protocol. */
  | { readonly state: 'silent'; readonly pid: number; readonly version: string; readonly why: string }
) & {
  /** Null: nothing is known, because no daemon ran here yet. */
  readonly supervision: SupervisionStatus | null;
};

interface ControlOptions {
  readonly env?: NodeJS.ProcessEnv;
}

const PROBE_MS = 5_000;
const STOP_MS = 30_000;

/** Whether one runs; starts none. */
export async function daemonStatus({ env = process.env }: ControlOptions = {}): Promise<DaemonStatus> {
  const place = placeOf(env);
  const supervision = supervisionOf(place);
  const found = lockOrWhy(place);
  if (found.state === 'none') return { state: 'none', why: 'there is no lock file', supervision };
  if (found.state === 'stale') return { state: 'none', why: found.why, supervision };
  const { lock } = found;
  const endpoint = endpointOf(place, lock);
  try {
    const health = await createClient(endpoint).health({ signal: AbortSignal.timeout(PROBE_MS) });
    return { state: 'running', url: endpoint.url, health, supervision };
  } catch (error) {
    return { state: 'silent', pid: lock.pid, version: lock.version, why: String(error), supervision };
  }
}

/** A lock file that cannot be read is no sign of a daemon. */
function lockOrWhy({ lockFile }: Place): FoundLock {
  try {
    return findLock(lockFile);
  } catch (error) {
    if (!isReveilleError(error)) throw error;
    return { state: 'stale', why: error.message };
  }
}

function supervisionOf({ supervision: path }: Place): SupervisionStatus | null {
  const record = readSupervision(path);
  if (!record) return null;
  const { by, supervisor, restarts, gaveUp } = record;
  if (by !== 'reveille') return { by, pid: null, restarts, gaveUp };
  const pid = isAlive(supervisor) ? supervisor.pid : null;
  return { by: pid === null ? 'nobody' : by, pid, restarts, gaveUp };
}

/**
 * Stops the daemon that runs, and its supervisor, and waits for their end: in order, and if it has not ended in time, at
 * once. By signal, so that one that does not answer or is of another version can be stopped too. False: none ran.
 */
export async function stopDaemon(
  options: ControlOptions & { readonly waitMs?: number } = {},
): Promise<boolean> {
  const { env = process.env, waitMs = STOP_MS } = options;
  const place = placeOf(env);
  const found = lockOrWhy(place);
  let stopped = found.state === 'live';
  if (found.state === 'live') await end(place, found.lock, waitMs);
  // A daemon that is just being started again, or will be, has no lock file yet.
  const deadline = performance.now() + waitMs;
  for (let left = nextOf(place); left && performance.now() < deadline; left = nextOf(place)) {
    stopped = true;
    await end(place, left, waitMs);
  }
  return stopped;
}

/** The supervisor comes first: otherwise it would start the next daemon. */
function nextOf({ supervision }: Place): ProcessName | null {
  const record = readSupervision(supervision);
  return [record?.supervisor ?? null, record?.daemon ?? null].find(isAlive) ?? null;
}

async function end(place: Place, named: ProcessName, waitMs: number): Promise<void> {
  if (!signal(named, 'SIGTERM') || (await untilGone(named, performance.now() + waitMs))) return;
  // A daemon that does not answer cannot tell its supervisor that its end is wanted.
  const supervisor = readSupervision(place.supervision)?.supervisor ?? null;
  if (isAlive(supervisor)) signal(supervisor, 'SIGKILL');
  signal(named, 'SIGKILL');
  await untilGone(named, performance.now() + waitMs);
}

/** False: it has ended by itself. */
function signal({ pid }: ProcessName, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
