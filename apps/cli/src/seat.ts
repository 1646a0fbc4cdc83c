import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isId, isReveilleError, type Client, type Grant, type SessionId } from '@reveille/protocol';

/**
 * The lasting sessions of this person's clients: a terminal in a repository, a chat in an editor. Which session is whose
 * stands in a small file by the client's name, so that whoever comes back finds its children and its mail. The file holds
 * no secret: the credential is given out anew to whoever has the person's token.
 */
export interface SeatOptions {
  /** The daemon's folder. */
  readonly home: string;
  /** As the person. */
  readonly client: Client;
  readonly kind: 'chat' | 'terminal';
  /** Whose it is: `terminal`, `claude`. */
  readonly name: string;
  readonly repository: string | null;
}

export interface Seat {
  readonly session: SessionId;
  /** The same daemon, called by the session. */
  readonly client: Client;
}

/** The session of that name, or a new one if there is none or it has ended. */
export async function takeSeat(options: SeatOptions): Promise<Seat> {
  return seatAt(fileOf(options, ''), options);
}

/** A new session under the same name: the old one keeps what it has. */
export async function takeNewSeat(options: SeatOptions): Promise<Seat> {
  rmSync(fileOf(options, ''), { force: true });
  return takeSeat(options);
}

/** For as long as a chat is connected the seat is its own: a second one at the same time sits beside it. */
export async function holdSeat(options: SeatOptions): Promise<Seat & Disposable> {
  for (let number = 1; ; number++) {
    const file = fileOf(options, `-${number}`);
    const guard = hold(`${file}.held`);
    if (!guard) continue;
    try {
      return { ...(await seatAt(file, options)), [Symbol.dispose]: () => guard.close() };
    } catch (error) {
      guard.close();
      throw error;
    }
  }
}

async function seatAt(file: string, options: SeatOptions): Promise<Seat> {
  const { client, kind, name, repository } = options;
  const known = readSession(file);
  const granted = known && (await again(client, known));
  const { session, credential } =
    granted ?? (await client.grantSession({ kind, name, ...(repository === null ? {} : { repository }) }));
  if (session.id !== known) writeSession(file, session.id);
  return { session: session.id, client: client.as(credential) };
}

async function again(client: Client, session: SessionId): Promise<Grant | null> {
  try {
    return await client.grantSession({ session });
  } catch (error) {
    if (isReveilleError(error, 'not_found') || isReveilleError(error, 'wrong_state')) return null;
    throw error;
  }
}

function fileOf({ home, name, repository }: SeatOptions, suffix: string): string {
  const folder = join(home, 'clients');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const place = createHash('sha256')
    .update(repository ?? '')
    .digest('hex')
    .slice(0, 12);
  const word = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40);
  return join(folder, `${word}-${place}${suffix}.json`);
}

function readSession(file: string): SessionId | null {
  try {
    const { session } = JSON.parse(readFileSync(file, 'utf8')) as { session?: unknown };
    return typeof session === 'string' && isId('session', session) ? session : null;
  } catch {
    // None yet, or damaged: a new one is made.
    return null;
  }
}

function writeSession(file: string, session: SessionId): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${JSON.stringify({ session })}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
}

const BUSY = 5;

/** By the operating system, which lets go of it with the process; see the daemon's own guard. Null: another has it. */
function hold(path: string): DatabaseSync | null {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === BUSY) return null;
    throw error;
  }
}
