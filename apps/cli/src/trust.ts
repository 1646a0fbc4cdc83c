import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';

/** Something a repository brings along that would be run or loaded: its whole content, since that is what is trusted. */
export interface TrustItem {
  readonly kind: 'command' | 'agent' | 'mcp' | 'hook' | 'skill';
  /** What the person knows it by: the setting, the file. */
  readonly name: string;
  readonly content: string;
}

/**
 * What the person has agreed to: one small file for each thing, named by the hash of all it was agreed to for, in the form
 * that the room of worktrees reads and writes. A content that has changed has no file, and is not trusted.
 */
export class TrustFolder {
  readonly #folder: string;
  /** The git folder of the repository. */
  readonly #repository: string;

  constructor(home: string, repository: string) {
    this.#folder = join(home, 'trust');
    this.#repository = repository;
  }

  has(item: TrustItem): boolean {
    if (!this.#isOurs()) return false;
    const hash = this.#hash(item);
    try {
      const grant: unknown = JSON.parse(readFileSync(this.#fileOf(hash), 'utf8'));
      return typeof grant === 'object' && grant !== null && 'hash' in grant && grant.hash === hash;
    } catch {
      return false;
    }
  }

  grant(items: readonly TrustItem[]): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (!this.#isOurs())
      throw new ReveilleError(
        'not_allowed',
        `Trust cannot be kept in ${this.#folder}: it must be a folder of your own that nobody else can write to (chmod 700).`,
      );
    for (const item of items) {
      const { kind, name } = item;
      const hash = this.#hash(item);
      const aside = join(this.#folder, `.${randomUUID()}`);
      try {
        const grant = { repository: this.#repository, kind, name, hash, at: new Date().toISOString() };
        writeFileSync(aside, JSON.stringify(grant), { mode: 0o600, flag: 'wx', flush: true });
        renameSync(aside, this.#fileOf(hash));
      } finally {
        rmSync(aside, { force: true });
      }
    }
  }

  /** A folder that others can write to holds what others agreed to. */
  #isOurs(): boolean {
    const stat = lstatSync(this.#folder, { throwIfNoEntry: false });
    return (
      stat?.isDirectory() === true &&
      (stat.mode & 0o022) === 0 &&
      stat.uid === (process.getuid?.() ?? stat.uid)
    );
  }

  #fileOf(hash: string): string {
    return join(this.#folder, `${hash}.json`);
  }

  /** As JSON, so that no two different items can be written the same way. */
  #hash({ kind, name, content }: TrustItem): string {
    return createHash('sha256')
      .update(JSON.stringify([this.#repository, kind, name, content]))
      .digest('hex');
  }
}
