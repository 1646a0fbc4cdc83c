import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isId, type Caller, type RunId, type SessionId } from '@reveille/protocol';

/**
 * Who calls, by what they hold (ID3). A person has the token of the lock file, new at every start. A session and a run
 * have credentials that name them and are sealed with the secret of this place, so that they outlive the
 * daemon and nothing has to be stored; the epoch is part of a run's, so it dies with the lease.
 *
 *   rvp_<random>                              a person
 *   rvs_<session>.<seal>                      a chat, a terminal
 *   rvr_<run>.<session>.<epoch>.<seal>        one run of a worker
 *   rvb_<page>.<seal>                         a person's browser, as long as it is let in
 *
 * What a credential names must also still count; see door.ts.
 */
export class Credentials {
  readonly #secret: Buffer;
  readonly #person: string;
  readonly #isPageIn: (page: string) => boolean;
  #token: string;

  constructor(options: { secret: string; person: string; isPageIn?: (page: string) => boolean }) {
    this.#secret = Buffer.from(options.secret, 'hex');
    this.#person = options.person;
    this.#isPageIn = options.isPageIn ?? (() => false);
    this.#token = newToken();
  }

  get token(): string {
    return this.#token;
  }

  /** The old token counts no longer. */
  rotate(): string {
    return (this.#token = newToken());
  }

  ofSession(session: SessionId): string {
    return this.#sealed(`rvs_${session}`);
  }

  ofRun({ run, session, epoch }: { run: RunId; session: SessionId; epoch: number }): string {
    return this.#sealed(`rvr_${run}.${session}.${epoch}`);
  }

  ofPage(page: string): string {
    return this.#sealed(`rvb_${page}`);
  }

  /** Null: nobody we know. */
  read(credential: string): Caller | null {
    if (credential.length > 400) return null;
    if (credential.startsWith('rvp_')) return this.#isPerson(credential);
    const [named, sealed] = split(credential);
    if (!same(this.#sealed(named), `${named}.${sealed}`)) return null;
    if (named.startsWith('rvs_')) return sessionNamed(named.slice(4));
    if (named.startsWith('rvb_')) return this.#pageNamed(named.slice(4));
    return named.startsWith('rvr_') ? runNamed(named.slice(4)) : null;
  }

  #isPerson(credential: string): Caller | null {
    return same(credential, this.#token) ? { kind: 'person', name: this.#person } : null;
  }

  #pageNamed(page: string): Caller | null {
    return this.#isPageIn(page) ? { kind: 'person', name: this.#person } : null;
  }

  #sealed(named: string): string {
    return `${named}.${createHmac('sha256', this.#secret).update(named).digest('base64url')}`;
  }
}

const newToken = (): string => `rvp_${randomBytes(32).toString('base64url')}`;

function split(credential: string): [named: string, sealed: string] {
  const dot = credential.lastIndexOf('.');
  return dot === -1 ? [credential, ''] : [credential.slice(0, dot), credential.slice(dot + 1)];
}

function sessionNamed(session: string): Caller | null {
  return isId('session', session) ? { kind: 'session', session } : null;
}

function runNamed(named: string): Caller | null {
  const [run = '', session = '', epoch = '', ...more] = named.split('.');
  if (more.length > 0) return null;
  if (!isId('run', run) || !isId('session', session) || !/^\d{1,12}$/.test(epoch)) return null;
  return { kind: 'worker', run, session, epoch: Number(epoch) };
}

/** In a time that says nothing about where they differ: of equal length, and all of it. */
function same(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
