import { chmodSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  HTTP_PROTOCOL,
  ReveilleError,
  createClient,
  isReveilleError,
  type Endpoint,
} from '@reveille/protocol';
import type { Place } from '../place/folder.ts';
import { findLock, urlOf, type Lock } from '../place/lock-file.ts';
import { socketFetch } from './socket-fetch.ts';
import { processIdentity } from '../place/process-identity.ts';

const LOOK_MS = 20;

/**
 * The daemon that runs, if one does and answers. Null: there is none, and one may be started. The token is only ever sent
 * to the process that wrote it: whoever has its port by now is another one.
 */
export async function findDaemon(place: Place, deadline: number): Promise<Found | null> {
  const found = findLock(place.lockFile);
  if (found.state !== 'live') return null;
  const { lock, exposed } = found;
  checkProtocol(lock);
  const state = await probe(place, lock, deadline);
  if (state === 'running') return exposed ? await renewToken(place, lock) : endpointOf(place, lock);
  // It is about to end, or to be overtaken by a new one.
  if (state === 'stopping') await untilGone(lock, deadline);
  return null;
}

export interface Found extends Endpoint {
  readonly fetch: typeof globalThis.fetch;
  /** Whether the process has ended. */
  readonly isGone: () => boolean;
}

/** By the person's socket if there is one: what agents do at the port does not hold it up (BND7.22). */
export const endpointOf = ({ socket }: Place, lock: Lock): Found => ({
  url: urlOf(lock),
  token: lock.token,
  fetch: socketFetch(socket),
  isGone: () => hasEnded(lock),
});

function hasEnded({ pid, process: identity }: Lock): boolean {
  if (process.platform === 'linux') return processIdentity(pid) !== identity;
  // Elsewhere a look at the start time takes a process, and this is done often.
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
}

function checkProtocol({ protocol, version, pid }: Lock): void {
  if (protocol === HTTP_PROTOCOL) return;
  const words =
    protocol < HTTP_PROTOCOL
      ? `The daemon that runs (version ${version}, process ${pid}) is older than this program. Stop it with \`reveille daemon stop\`; the next command starts a new one.`
      : `The daemon that runs (version ${version}, process ${pid}) is newer than this program. Update this one.`;
  throw new ReveilleError('version_mismatch', words, { data: { daemon: protocol, client: HTTP_PROTOCOL } });
}

async function probe(place: Place, lock: Lock, deadline: number): Promise<'running' | 'stopping' | 'silent'> {
  try {
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())));
    return (await createClient(endpointOf(place, lock)).health({ signal })).state;
  } catch (error) {
    // It died or rotated its token in this moment: whoever asks looks again.
    if (isReveilleError(error, 'unreachable') || isReveilleError(error, 'unauthorized')) return 'silent';
    if (!isReveilleError(error, 'aborted')) throw error;
    const words = `The daemon (process ${lock.pid}) is there but does not answer. If it stays so, end it: \`reveille daemon stop\`.`;
    throw new ReveilleError('unreachable', words, {
      data: { pid: lock.pid, carriedOut: 'no' },
      cause: error,
    });
  }
}

/** Others could read the token, so it counts no more. */
async function renewToken(place: Place, lock: Lock): Promise<Found | null> {
  chmodSync(place.lockFile, 0o600);
  await createClient(endpointOf(place, lock)).rotateToken();
  const again = findLock(place.lockFile);
  return again.state === 'live' ? endpointOf(place, again.lock) : null;
}

/** Resolves when the process has ended; false if it has not in time. */
export async function untilGone(lock: Pick<Lock, 'pid' | 'process'>, deadline: number): Promise<boolean> {
  while (processIdentity(lock.pid) === lock.process) {
    if (performance.now() >= deadline) return false;
    await sleep(LOOK_MS);
  }
  return true;
}
