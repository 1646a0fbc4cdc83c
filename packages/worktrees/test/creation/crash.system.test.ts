import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  findOrphans,
  findRepository,
  listCheckouts,
  type Checkout,
  type FoundRepository,
} from '@reveille/worktrees';
import { asPerson, Scratch } from './scratch.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

/** The moments to kill at: as soon as a path is there, in the home or in the person's git directory. */
interface Moment {
  readonly when: string;
  readonly paths: readonly string[];
  readonly kind?: Checkout['kind'];
  readonly pool?: number;
}
const MOMENTS: readonly Moment[] = [
  { when: 'a stage is made', paths: ['home/.reveille/.stage/*'] },
  { when: 'a stage is held', paths: ['home/.reveille/.stage/*/life.db'] },
  { when: 'a name is claimed', paths: ['home/.reveille/.stage/*/claim.json'] },
  { when: 'a room is in its place', paths: ['home/.reveille/plan-*/owner'] },
  {
    when: 'git locks the refs',
    paths: ['git/refs/heads/reveille/plan/*.lock', 'git/refs/reveille/base/*.lock'],
  },
  { when: 'the branch is made', paths: ['git/refs/heads/reveille/plan/task'] },
  { when: 'the pin is made', paths: ['git/refs/reveille/base/plan-task'] },
  { when: 'our git directory is made', paths: ['home/.reveille/plan-*/own.git/config'] },
  { when: 'git writes the tree', paths: ['home/.reveille/.stage/*/tree'] },
  { when: 'the agent has a git directory', paths: ['home/.reveille/.stage/*/tree/.git'], kind: 'clone' },
  { when: 'the entry is put together', paths: ['git/reveille-*'], kind: 'linked' },
  { when: 'the entry is in its place', paths: ['git/worktrees/*'], kind: 'linked' },
  { when: 'ports are reserved', paths: ['home/.reveille/.ports/*'] },
  { when: 'the tree is in its place', paths: ['home/plan-*'] },
  { when: 'the set-up is remembered', paths: ['home/.reveille/plan-*/setup.json'] },
  { when: 'the record is written', paths: ['home/.reveille/plan-*/checkout.json'] },
  { when: 'the room is thrown away', paths: ['home/.reveille/.trash/*/checkout.json'] },
  { when: 'the tree is thrown away', paths: ['home/.reveille/.trash/*/removed-tree'] },
  { when: 'a ready tree is being made', paths: ['home/.reveille/.stage/*/warm'], pool: 1 },
  { when: 'a ready tree is put', paths: ['home/.reveille/.pool/*/entry.json'], pool: 1 },
];

/** A repository, and a child that works on it until it is killed. */
class Round {
  readonly repository: FoundRepository;
  readonly kind: Checkout['kind'];
  /** What stays of earlier times it was killed. */
  readonly #kept = new Set<string>();
  #said = '';

  constructor(repository: FoundRepository, kind: Checkout['kind']) {
    this.repository = repository;
    this.kind = kind;
  }

  /** Kills it when `until` says so: itself, or with all the git it has started. */
  async kill(pool: number, until: (said: string) => boolean, whole: boolean): Promise<void> {
    const args = ['--conditions=source', CHILD, this.repository.root, this.kind, String(pool)];
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#said = '';
    try {
      await this.#watch(child, until);
      expect(child.exitCode).toBeNull();
    } finally {
      const over = new Promise((resolve) => child.once('close', resolve));
      process.kill(whole ? -child.pid! : child.pid!, 'SIGKILL');
      await over;
    }
  }

  async #watch(
    child: ChildProcessByStdio<null, Readable, null>,
    until: (said: string) => boolean,
  ): Promise<void> {
    child.stdout.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
    // A moment that is over too quickly to be seen comes again; at the latest here it is killed anyway.
    while (child.exitCode === null && !until(this.#said) && this.#said.length < 1_000)
      await new Promise(setImmediate);
  }

  /** What it had made and was not about to remove is there; nothing is there half. */
  async check(): Promise<void> {
    const words = this.#said.split('\n').map((line) => line.split(' '));
    const named = (wanted: string): string[] =>
      words.flatMap(([word, name = '']) => (word === wanted ? [name] : []));
    const removing = named('removing');
    for (const name of named('made')) if (!removing.includes(name)) this.#kept.add(name);
    // One more may have been made without a word, or not have been removed yet: it is reported, and whole.
    const orphans = await findOrphans(this.repository, this.#kept);
    expect(orphans.map(({ why }) => why)).toEqual(orphans.length === 0 ? [] : ['no_run']);
    for (const { name } of orphans) this.#kept.add(name);
    const names = (await listCheckouts(this.repository)).map(({ name }) => name);
    expect(new Set(names)).toEqual(this.#kept);
    for (const { path } of await listCheckouts(this.repository))
      expect(await asPerson(path, 'status', '--porcelain')).toBe('');
    await this.#nothingHalf(names);
  }

  async #nothingHalf(names: readonly string[]): Promise<void> {
    const { root, home, gitDir } = this.repository;
    const inside = async (...path: string[]): Promise<string[]> =>
      existsSync(join(...path)) ? await readdir(join(...path)) : [];
    expect(await inside(home, '.reveille/.stage')).toEqual([]);
    expect(await inside(home, '.reveille/.trash')).toEqual([]);
    expect(await inside(home, '.reveille/.ports')).toHaveLength(names.length);
    expect((await inside(home)).filter((name) => name !== '.reveille')).toEqual(names);
    expect(await inside(gitDir, 'worktrees')).toEqual(this.kind === 'linked' ? names : []);
    // A git that outlived its process ends by itself, and its locks with it.
    await expect
      .poll(() => globSync(['**/*.lock', 'reveille-*'], { cwd: gitDir }), { timeout: 60_000 })
      .toEqual([]);
    const pins = await asPerson(root, 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/reveille/base');
    expect(pins.split('\n').filter(Boolean)).toEqual(names);
    await asPerson(root, 'log', '--all', '--oneline');
    await asPerson(root, 'fsck', '--strict');
  }
}

async function inRound(kind: Checkout['kind'], work: (round: Round) => Promise<void>): Promise<void> {
  await using scratch = await Scratch.make();
  const root = await scratch.repository({ 'a.txt': 'a\n', 'b/c.txt': 'c\n' });
  await work(new Round(await findRepository(root, { home: null }), kind));
}

const isThere = ({ repository }: Round, paths: readonly string[]): boolean =>
  paths.some((path) => {
    const [where, ...rest] = path.split('/');
    return (
      globSync(rest.join('/'), { cwd: where === 'git' ? repository.gitDir : repository.home }).length > 0
    );
  });

describe('a process that is killed', () => {
  // Both kinds take the same steps but for their own; each is killed alone, and with all the git it has started.
  const rounds = MOMENTS.map((moment, i) => ({
    ...moment,
    kind: moment.kind ?? (i % 2 === 0 ? ('clone' as const) : ('linked' as const)),
    whole: i % 4 < 2,
  }));

  it.each(rounds)(
    '[WKT5.3] when $when, leaves nothing half made or half removed',
    async ({ paths, pool = 0, kind, whole }) => {
      await inRound(kind, async (round) => {
        await round.kill(pool, () => isThere(round, paths), whole);
        await round.check();
      });
    },
  );

  it.each(['clone', 'linked'] as const)(
    '[WKT5.3] at any moment, again and again, leaves nothing half made or half removed: %s',
    async (kind) => {
      await inRound(kind, async (round) => {
        for (let i = 0; i < 5; i += 1) {
          let seen = 0;
          const late = (said: string): boolean => said.includes('made') && (seen += 1) > i * 15;
          await round.kill(0, late, i % 2 === 0);
          await round.check();
        }
      });
    },
  );
});
