import { createClient, type Health } from '@reveille/protocol';
import { placeOf } from '../place/folder.ts';
import { findLock } from '../place/lock-file.ts';
import { endpointOf, untilGone } from './find.ts';

export type DaemonStatus =
  | { readonly state: 'none'; readonly why: string }
  | { readonly state: 'running'; readonly url: string; readonly health: Health }
  /** It is there, but does not answer or speaks another protocol. */
  | { readonly state: 'silent'; readonly pid: number; readonly version: string; readonly why: string };

interface ControlOptions {
  readonly env?: NodeJS.ProcessEnv;
}

const PROBE_MS = 5_000;
const STOP_MS = 30_000;

/** Whether one runs; starts none. */
export async function daemonStatus({ env = process.env }: ControlOptions = {}): Promise<DaemonStatus> {
  const place = placeOf(env);
  const found = findLock(place.lockFile);
  if (found.state === 'none') return { state: 'none', why: 'there is no lock file' };
  if (found.state === 'stale') return { state: 'none', why: found.why };
  const { lock } = found;
  const endpoint = endpointOf(place, lock);
  try {
    const health = await createClient(endpoint).health({ signal: AbortSignal.timeout(PROBE_MS) });
    return { state: 'running', url: endpoint.url, health };
  } catch (error) {
    return { state: 'silent', pid: lock.pid, version: lock.version, why: String(error) };
  }
}

/**
 * Stops the daemon that runs and waits for its end: in order, and if it has not ended in time, at once. By signal, so that
 * one that does not answer or is of another version can be stopped too. False: none ran.
 */
export async function stopDaemon(
  options: ControlOptions & { readonly waitMs?: number } = {},
): Promise<boolean> {
  const { env = process.env, waitMs = STOP_MS } = options;
  const found = findLock(placeOf(env).lockFile);
  if (found.state !== 'live') return false;
  const { lock } = found;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    try {
      process.kill(lock.pid, signal);
    } catch {
      return true; // it has ended by itself
    }
    if (await untilGone(lock, performance.now() + waitMs)) return true;
  }
  return true;
}
