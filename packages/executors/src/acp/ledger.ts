import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MARK } from './process.ts';
import { endKept, endStrays, killGroup } from './strays.ts';

const EVERY_MS = 10;
const TRIES = 800;
const KEEPER_TRIES = 500;
const ENDING = '.json';

/**
 * Which process an agent is, on disk: so that a later life finds what an earlier one left, and nothing else. The core
 * knows an agent by a name before there is a process; here the name leads to it. A process is known by its number and
 * when it was started, because numbers are used again.
 */
export class Ledger {
  readonly #folder: string;
  readonly #identityOf: (pid: number) => string | null;

  constructor(folder: string, identityOf: (pid: number) => string | null) {
    this.#folder = folder;
    this.#identityOf = identityOf;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** At once, before anything else can happen to us. */
  record(name: string, pid: number, kept = false): void {
    const identity = this.#identityOf(pid);
    const record = { pid, identity, ...(kept ? { kept } : {}) };
    writeFileSync(this.#file(name), JSON.stringify(record), { mode: 0o600 });
  }

  forget(name: string): void {
    rmSync(this.#file(name), { force: true });
  }

  /** Resolves when nothing lives that was recorded under the name. */
  async reap(name: string): Promise<void> {
    const found = this.#read(name);
    const isAlive = (): boolean => found !== null && this.#identityOf(found.pid) === found.identity;
    for (let tries = 0; tries < TRIES && isAlive(); tries++) {
      // A keeper kills what is below it and then ends; killed itself, it could not.
      if (found?.kept && tries < KEEPER_TRIES) endKept(found.pid);
      else killGroup(found?.pid, 'SIGKILL');
      await sleep(EVERY_MS);
    }
    await endStrays(`${MARK}=${name}`);
    this.forget(name);
  }

  /** Resolves when nothing lives that was recorded here. For a new life that has recorded nothing yet. */
  async reapAll(): Promise<void> {
    for (const file of readdirSync(this.#folder)) {
      if (file.endsWith(ENDING)) await this.reap(file.slice(0, -ENDING.length));
    }
  }

  /** The agents that are recorded here and live, each by its name. */
  living(): { readonly name: string; readonly pid: number }[] {
    return readdirSync(this.#folder).flatMap((file) => {
      const name = file.endsWith(ENDING) ? file.slice(0, -ENDING.length) : null;
      const found = name === null ? null : this.#read(name);
      if (name === null || !found || this.#identityOf(found.pid) !== found.identity) return [];
      return [{ name, pid: found.pid }];
    });
  }

  #read(name: string): { readonly pid: number; readonly identity: string; readonly kept: boolean } | null {
    try {
      const value: unknown = JSON.parse(readFileSync(this.#file(name), 'utf8'));
      if (typeof value !== 'object' || value === null || !('pid' in value) || !('identity' in value))
        return null;
      const { pid, identity } = value;
      // Of a process that was gone before it could be named nothing is left but what has its mark.
      const kept = 'kept' in value && value.kept === true;
      return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity, kept } : null;
    } catch {
      return null;
    }
  }

  /** Names are ids of ours; anything else is not let into a path. */
  #file(name: string): string {
    return join(this.#folder, `${name.replaceAll(/[^\w.-]/g, '_')}${ENDING}`);
  }
}
