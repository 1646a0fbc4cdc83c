import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findOrphans, findRepository, listCheckouts, type FoundRepository } from '@reveille/worktrees';
import { asPerson, Scratch } from './scratch.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

/** The moments to kill at: as soon as a path is there. A stage's own name is not known, nor what git calls a lock. */
const POINTS: Readonly<Record<string, readonly string[]>> = {
  'a stage is made': ['home/.reveille/.stage/*'],
  'a stage is held': ['home/.reveille/.stage/*/life.db'],
  'a name is claimed': ['home/.reveille/.stage/*/claim.json'],
  'a room is in its place': ['home/.reveille/plan-*/owner'],
  'git locks the refs': ['git/refs/heads/reveille/plan/*.lock', 'git/refs/reveille/base/*.lock'],
  'the branch is made': ['git/refs/heads/reveille/plan/task*'],
  'the pin is made': ['git/refs/reveille/base/plan-*'],
  'our git directory is made': ['home/.reveille/plan-*/own.git/config'],
  'git writes the tree': ['home/.reveille/.stage/*/tree/*', 'home/.reveille/plan-*/own.git/index.lock'],
  'a ready tree is taken': ['home/.reveille/.stage/*/warm'],
  'a ready tree is put': ['home/.reveille/.pool/*/entry.json'],
  'the agent’s git directory is made': ['home/.reveille/.stage/*/tree/.git'],
  'the entry is put together': ['git/reveille-*'],
  'the entry is in its place': ['git/worktrees/*'],
  'ports are reserved': ['home/.reveille/.ports/*'],
  'the tree is in its place': ['home/plan-*'],
  'the set-up is remembered': ['home/.reveille/plan-*/setup.json'],
  'the record is written': ['home/.reveille/plan-*/checkout.json'],
  'the room is thrown away': ['home/.reveille/.trash/*/checkout.json'],
  'the tree is thrown away': ['home/.reveille/.trash/*/removed-tree'],
};

describe.each(['clone', 'linked'] as const)('a process that is killed, %s', (kind) => {
  let scratch: Scratch;
  let root: string;
  let repository: FoundRepository;
  let round = 0;
  const kept = new Set<string>();

  beforeAll(async () => {
    scratch = await Scratch.make();
    root = await scratch.repository({ 'a.txt': 'a\n', 'b/c.txt': 'c\n' });
    repository = await findRepository(root, { home: null });
  });
  afterAll(async () => await scratch[Symbol.asyncDispose]());

  /** Runs the child until `until` says so, kills it, with its git or without, and looks at what is left. */
  async function killed(until: () => boolean, whole: boolean): Promise<void> {
    const args = ['--conditions=source', CHILD, root, kind, `r${(round += 1)}`];
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const over = new Promise((resolve) => child.once('close', resolve));
    while (child.exitCode === null && !(said !== '' && until()) && said.length < 20_000)
      await new Promise(setImmediate);
    expect(child.exitCode, said).toBeNull();
    process.kill(whole ? -child.pid! : child.pid!, 'SIGKILL');
    await over;
    await lookAfter(said);
  }

  async function lookAfter(said: string): Promise<void> {
    const words = said
      .split('\n')
      .filter((line) => line.includes(' '))
      .map((line) => line.split(' ') as [string, string]);
    const removing = new Set(words.filter(([word]) => word === 'removing').map(([, name]) => name));
    for (const [word, name] of words) if (word === 'made' && !removing.has(name)) kept.add(name);
    const orphans = await findOrphans(repository, kept);
    // Made, or not removed yet, when it was killed: reported, and whole.
    for (const { name, why } of orphans) {
      expect(why, name).toBe('no_run');
      kept.add(name);
    }
    const known = await listCheckouts(repository);
    expect(new Set(known.map(({ name }) => name))).toEqual(kept);
    await nothingHalf(known.map(({ name }) => name));
    for (const { path } of known.slice(-2)) expect(await asPerson(path, 'status', '--porcelain')).toBe('');
    await asPerson(root, 'log', '--all', '--oneline');
  }

  async function nothingHalf(names: readonly string[]): Promise<void> {
    const ours = join(repository.home, '.reveille');
    expect(await readdir(join(ours, '.stage'))).toEqual([]);
    expect(await readdir(join(ours, '.trash'))).toEqual([]);
    expect(await readdir(join(ours, '.ports'))).toHaveLength(names.length);
    expect(new Set(await readdir(repository.home))).toEqual(new Set([...names, '.reveille']));
    const pins = await asPerson(root, 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/reveille/base');
    expect(new Set(pins.split('\n').filter(Boolean))).toEqual(new Set(names));
    expect(globSync('**/*.lock', { cwd: repository.gitDir })).toEqual([]);
    expect(globSync('reveille-*', { cwd: repository.gitDir })).toEqual([]);
    const entries = existsSync(join(repository.gitDir, 'worktrees'))
      ? await readdir(join(repository.gitDir, 'worktrees'))
      : [];
    expect(new Set(entries)).toEqual(new Set(kind === 'linked' ? names : []));
  }

  const isThere = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => {
      const [where, ...rest] = pattern.split('/');
      const cwd = where === 'git' ? repository.gitDir : repository.home;
      // What earlier rounds left on purpose is not what is waited for.
      return globSync(rest.join('/'), { cwd }).some(
        (path) => ![...kept].some((name) => path.includes(name)) || basename(path) === 'warm',
      );
    });

  it.each(Object.keys(POINTS).map((point, i) => [point, i % 2 === 0] as const))(
    '[WKT5.3] when %s, leaves nothing half made or half removed (its git with it: %s)',
    async (point, whole) => {
      await killed(() => isThere(POINTS[point]!), whole);
    },
  );

  it('[WKT5.3] at any moment, leaves nothing half made or half removed', async () => {
    for (let i = 0; i < 12; i += 1) {
      const enough = Date.now() + Math.random() * 200;
      await killed(() => Date.now() >= enough, i % 2 === 0);
    }
    await asPerson(root, 'fsck', '--strict');
    await asPerson(root, 'gc', '-q');
  });
});
