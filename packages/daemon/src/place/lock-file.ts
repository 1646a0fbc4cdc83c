import { rmSync } from 'node:fs';
import { HTTP_PROTOCOL } from '@reveille/protocol';
import { z } from 'zod';
import { processIdentity } from './process-identity.ts';
import { jsonOf, readPrivately, writePrivately } from './private-file.ts';

/** How to reach the daemon that runs, and how to tell whether it still does. */
const Lock = z.object({
  protocol: z.number().int(),
  version: z.string(),
  pid: z.number().int().positive(),
  /** See process-identity.ts: the pid alone may be another process's by now. */
  process: z.string(),
  port: z.number().int().min(1).max(65_535),
  token: z.string().min(1),
  startedAt: z.number(),
});
export type Lock = z.infer<typeof Lock>;

export type FoundLock =
  | { readonly state: 'none' }
  /** What is there is no lock, or its process is gone. */
  | { readonly state: 'stale'; readonly why: string }
  | { readonly state: 'live'; readonly lock: Lock; readonly exposed: boolean };

export function findLock(path: string): FoundLock {
  const file = readPrivately(path);
  if (!file) return { state: 'none' };
  const parsed = Lock.safeParse(jsonOf(file.text));
  if (!parsed.success) return { state: 'stale', why: `${path} is not a lock file` };
  const lock = parsed.data;
  const living = processIdentity(lock.pid);
  if (living === null) return { state: 'stale', why: `process ${lock.pid} is gone` };
  if (living !== lock.process) return { state: 'stale', why: `process ${lock.pid} is another one by now` };
  return { state: 'live', lock, exposed: file.exposed };
}

export const urlOf = ({ port }: Pick<Lock, 'port'>): string => `http://127.0.0.1:${port}`;

/** The lock file of this process. */
export class OwnLock {
  readonly #path: string;
  readonly #lock: Omit<Lock, 'token'>;
  #token: string;

  constructor(path: string, own: { version: string; port: number; token: string; startedAt: number }) {
    const { token, ...rest } = own;
    const identity = processIdentity(process.pid) ?? '';
    this.#path = path;
    this.#token = token;
    this.#lock = { protocol: HTTP_PROTOCOL, pid: process.pid, process: identity, ...rest };
  }

  write(token = this.#token): void {
    this.#token = token;
    writePrivately(this.#path, `${JSON.stringify({ ...this.#lock, token })}\n`);
  }

  /** Somebody deleted or changed it: without it nobody finds this daemon, and nobody else can start one. */
  repair(): boolean {
    if (this.#isThere()) return false;
    this.write();
    return true;
  }

  /** Another daemon's stays: its folder may have taken the place of ours. */
  remove(): void {
    if (this.#isThere()) rmSync(this.#path, { force: true });
  }

  #isThere(): boolean {
    return readPrivately(this.#path)?.text === `${JSON.stringify({ ...this.#lock, token: this.#token })}\n`;
  }
}
