import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';

/** Something a repository brings along that would be run or loaded: its whole content, since that is what is trusted. */
export interface TrustItem {
  readonly kind: 'command' | 'agent' | 'mcp' | 'hook' | 'skill' | 'objects' | 'files' | 'home';
  /** What the person knows it by: the setting, the file. */
  readonly name: string;
  readonly content: string;
}

export interface Grant {
  /** The repository's common git directory, resolved. */
  readonly repository: string;
  readonly kind: TrustItem['kind'];
  readonly name: string;
  /** Of repository, kind, name and content together. */
  readonly hash: string;
  /** When the person said so, in ISO. */
  readonly at: string;
}

export interface TrustOptions {
  /** A folder of the person's state, for this alone. It is made if it is missing. */
  readonly folder: string;
  readonly now?: () => Date;
}

/**
 * What the person has agreed to, one small file for each thing, named by the hash of all it was agreed to for. So agreeing
 * makes a file and taking it back deletes one: two processes never overwrite each other's, nothing has to be locked, and
 * a changed content simply has no file. The content itself is not kept.
 */
export class Trust {
  readonly #folder: string;
  readonly #now: () => Date;

  constructor({ folder, now }: TrustOptions) {
    this.#folder = folder;
    this.#now = now ?? (() => new Date());
  }

  /** What was agreed to for this repository, read now: whoever cannot wait asks this. */
  async grantedIn(repository: string): Promise<(item: TrustItem) => boolean> {
    const mine = (await this.list()).filter((grant) => grant.repository === repository);
    const hashes = new Set(mine.map(({ hash }) => hash));
    return (item) => hashes.has(hashOf(repository, item));
  }

  async grant(repository: string, items: readonly TrustItem[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if (!(await this.#isOurs())) throw this.#open();
    for (const item of items) await this.#write(grantOf(repository, item, this.#now()));
  }

  /** Without items: everything of this repository. */
  async revoke(repository: string, items?: readonly TrustItem[]): Promise<void> {
    const hashes = items
      ? items.map((item) => hashOf(repository, item))
      : (await this.list()).filter((grant) => grant.repository === repository).map(({ hash }) => hash);
    await Promise.all(hashes.map(async (hash) => rm(this.#fileOf(hash), { force: true })));
  }

  /** Newest first. */
  async list(): Promise<Grant[]> {
    if (!(await this.#isOurs())) return [];
    const names = (await readdir(this.#folder)).filter((name) => FILE.test(name));
    const grants = await Promise.all(names.map(async (name) => this.#read(name.slice(0, 64))));
    return grants.filter((grant) => grant !== null).toSorted((a, b) => (a.at < b.at ? 1 : -1));
  }

  /** Null if there is none, or it is not what we wrote: then it was not agreed to. */
  async #read(hash: string): Promise<Grant | null> {
    const text = await readFile(this.#fileOf(hash), 'utf8').catch(() => null);
    const grant = text === null ? null : parseGrant(text);
    return grant?.hash === hash ? grant : null;
  }

  /** Whole or not at all, also when the machine stops: written aside, then given its name. */
  async #write(grant: Grant): Promise<void> {
    const aside = join(this.#folder, `.${randomUUID()}`);
    try {
      const file = await open(aside, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify(grant));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(aside, this.#fileOf(grant.hash));
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
  }

  #fileOf(hash: string): string {
    return join(this.#folder, `${hash}.json`);
  }

  /** A folder that others can write to holds what others agreed to. */
  async #isOurs(): Promise<boolean> {
    const stat = await lstat(this.#folder).catch(() => null);
    return (
      stat !== null &&
      stat.isDirectory() &&
      (stat.mode & 0o022) === 0 &&
      stat.uid === (process.getuid?.() ?? stat.uid)
    );
  }

  #open(): ReveilleError {
    return new ReveilleError(
      'not_allowed',
      `Trust cannot be kept in ${this.#folder}: it must be a folder of your own that nobody else can write to (chmod 700).`,
    );
  }
}

const FILE = /^[0-9a-f]{64}\.json$/;

function grantOf(repository: string, item: TrustItem, at: Date): Grant {
  return {
    repository,
    kind: item.kind,
    name: item.name,
    hash: hashOf(repository, item),
    at: at.toISOString(),
  };
}

/** As JSON, so that no two different items can be written the same way. */
function hashOf(repository: string, { kind, name, content }: TrustItem): string {
  return createHash('sha256')
    .update(JSON.stringify([repository, kind, name, content]))
    .digest('hex');
}

function parseGrant(text: string): Grant | null {
  try {
    const value: unknown = JSON.parse(text);
    return isGrant(value) ? value : null;
  } catch {
    return null;
  }
}

function isGrant(value: unknown): value is Grant {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return ['repository', 'kind', 'name', 'hash', 'at'].every((field) => typeof fields[field] === 'string');
}
