import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Forecaster } from '../../src/work/forecast.ts';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { mergeBranches } from '../../src/work/merge.ts';
import { findRepository } from '@reveille/worktrees';
import { withAnotherGit } from '../git/another-git.ts';
import { makeShallow, makeWorld, type World, type AgentPlace } from './world.ts';

async function branchOf(world: World, task: string, files: Record<string, string>): Promise<string> {
  const agent = await world.checkout(task);
  agent.commit(files, `work of ${task}`);
  await importBranch(agent.checkout);
  return agent.checkout.branch;
}

const read = (world: World, name: string): string => readFileSync(join(world.home.path, name), 'utf8');

test('[PLN5.10] branches are merged without a checkout, and the same input is the same commit', async () => {
  using world = await makeWorld();
  const { home, repository } = world;
  const a = await branchOf(world, 'a', { a: 'a' });
  const b = await branchOf(world, 'b', { b: 'b' });
  expect(await mergeBranches(repository, { base: 'main', branches: [] })).toEqual({ commit: home.head() });
  expect(await mergeBranches(repository, { base: 'main', branches: [a] })).toEqual({
    commit: home.git('rev-parse', a),
  });
  const spec = { base: 'main', branches: [a, b, a] };
  const { commit } = await mergeBranches(repository, spec);
  expect(await mergeBranches(repository, spec)).toEqual({ commit });
  expect(home.git('rev-parse', `${commit}^1`, `${commit}^2`)).toBe(home.git('rev-parse', a, b));
  expect(home.git('diff', '--name-only', 'main', commit!)).toBe('a\nb');
  expect(home.git('status', '--porcelain')).toBe('');
  await expect(mergeBranches(repository, { base: 'main', branches: ['nope'] })).rejects.toMatchObject({
    code: 'not_found',
  });
  home.git('update-ref', 'refs/heads/kept', commit!);
  world.healthy();
});

test('[PLN6.10] a conflict names the branch and its files, and nothing is made', async () => {
  using world = await makeWorld({ a: 'a\n', b: 'b\n' });
  const a = await branchOf(world, 'a', { a: 'from a\n' });
  const b = await branchOf(world, 'b', { a: 'from b\n', b: 'b2\n' });
  const before = world.home.git('for-each-ref');
  const merged = await mergeBranches(world.repository, { base: 'main', branches: [a, b] });
  expect(merged).toEqual({
    conflict: { branch: b, files: [{ path: 'a', why: 'both changed the same lines' }] },
  });
  expect(world.home.git('for-each-ref')).toBe(before);
  world.healthy();
});

test('[PLN6.11] a branch comes home: files, index, branch and reflog, by fast-forward or merge', async () => {
  using world = await makeWorld({ a: 'a\n', gone: 'g\n', 'dir/x': 'x\n', 'run.sh': 'x\n' });
  const { home, repository } = world;
  const agent = await world.checkout('a');
  agent.git('rm', '-q', 'gone', 'dir/x');
  agent.git('update-index', '--chmod=+x', 'run.sh');
  agent.git('commit', '-qm', 'mode');
  agent.git('checkout', '-q', '.');
  const tip = agent.commit({ a: 'a2\n', 'new/file': 'n\n', dir: 'file now\n' });
  await importBranch(agent.checkout);
  home.write({ untracked: 'mine' });
  expect(await bringHome(repository, agent.checkout.branch)).toMatchObject({ merged: true, commit: tip });
  expect(home.head()).toBe(tip);
  expect(home.git('status', '--porcelain')).toBe('?? untracked');
  expect([read(world, 'a'), read(world, 'new/file'), read(world, 'dir')]).toEqual([
    'a2\n',
    'n\n',
    'file now\n',
  ]);
  expect(existsSync(join(home.path, 'gone'))).toBe(false);
  expect(home.git('reflog', '-1', '--format=%gs')).toContain('merge');
  expect(await bringHome(repository, agent.checkout.branch)).toEqual({
    merged: true,
    commit: tip,
    files: [],
  });
  rmSync(join(home.path, 'untracked'));
  home.commit({ mine: 'mine\n' });
  agent.commit({ theirs: 'theirs\n' });
  await importBranch(agent.checkout);
  const merged = await bringHome(repository, agent.checkout.branch);
  expect(merged).toMatchObject({ merged: true, files: [{ path: 'theirs', insertions: 1, deletions: 0 }] });
  expect(home.git('log', '-1', '--format=%p').split(' ')).toHaveLength(2);
  expect(home.git('status', '--porcelain')).toBe('');
  world.healthy();
});

test('[PLN6.12] never into a dirty checkout, over a file git does not know, or with conflicts', async () => {
  using world = await makeWorld({ a: 'a\n', b: 'b\n', '.gitignore': '*.log\n' });
  const { home, repository } = world;
  const agent = await world.checkout('a');
  agent.write({ 'x.log': 'forced\n' });
  agent.git('add', '-f', 'x.log');
  agent.commit({ a: 'a2\n', fresh: 'f\n' });
  await importBranch(agent.checkout);
  const { branch } = agent.checkout;
  const before = home.head();
  home.write({ b: 'dirty\n' });
  await expect(bringHome(repository, branch)).rejects.toMatchObject({
    code: 'dirty_checkout',
    data: { files: ['b'] },
  });
  home.git('add', 'b');
  await expect(bringHome(repository, branch)).rejects.toMatchObject({ code: 'dirty_checkout' });
  home.git('reset', '-q', '--hard');
  home.write({ 'x.log': 'mine\n' });
  expect(await bringHome(repository, branch)).toMatchObject({
    merged: false,
    conflicts: [{ path: 'x.log' }],
  });
  rmSync(join(home.path, 'x.log'));
  home.write({ fresh: 'mine\n' });
  expect(await bringHome(repository, branch)).toMatchObject({
    merged: false,
    conflicts: [{ path: 'fresh' }],
  });
  expect([read(world, 'a'), read(world, 'fresh'), home.head()]).toEqual(['a\n', 'mine\n', before]);
  rmSync(join(home.path, 'fresh'));
  const lock = join(home.path, '.git', 'index.lock');
  writeFileSync(lock, '');
  await expect(bringHome(repository, branch)).rejects.toMatchObject({ code: 'wrong_state', data: { lock } });
  expect(existsSync(lock)).toBe(true);
  rmSync(lock);
  home.git('checkout', '-q', '--detach');
  await expect(bringHome(repository, branch)).rejects.toMatchObject({ code: 'wrong_state' });
  home.git('checkout', '-q', 'main');
  const mine = home.commit({ a: 'another\n' });
  expect(await bringHome(repository, branch)).toMatchObject({ merged: false, conflicts: [{ path: 'a' }] });
  expect([home.head(), home.git('status', '--porcelain')]).toEqual([mine, '']);
  world.healthy();
});

test('[PLN6.12] what gives way to a file of the person goes back whole, also where a file became a folder', async () => {
  using world = await makeWorld({ a: 'a\n', 'deep/b': 'b\n' });
  const { home, repository } = world;
  const agent = await world.checkout('a');
  rmSync(join(agent.path, 'a'));
  rmSync(join(agent.path, 'deep/b'));
  agent.commit({ 'a/in': 'in\n', 'deep/b/in/it': 'in\n', 'z.txt': 'z\n' });
  await importBranch(agent.checkout);
  home.write({ 'z.txt': 'mine\n' });
  expect(await bringHome(repository, agent.checkout.branch)).toMatchObject({
    merged: false,
    conflicts: [{ path: 'z.txt' }],
  });
  expect([read(world, 'a'), read(world, 'deep/b')]).toEqual(['a\n', 'b\n']);
  expect(home.git('status', '--porcelain')).toBe('?? z.txt');
});

test('[PLN6.12] files that need a filter of the person are left to their own git', async () => {
  using world = await makeWorld({ '.gitattributes': '*.bin filter=lfs\n', 'x.bin': 'pointer\n' });
  const branch = await branchOf(world, 'a', { 'x.bin': 'pointer 2\n' });
  const refused = bringHome(world.repository, branch);
  await expect(refused).rejects.toMatchObject({ code: 'wrong_state', data: { files: ['x.bin'] } });
  expect(world.home.git('status', '--porcelain')).toBe('');
});

test('[PLN7.10] pairs of branches that begin and stop to conflict are told once, with their files', async () => {
  using world = await makeWorld({ a: 'a\n', b: 'b\n' });
  const agents = await Promise.all(['x', 'y', 'z'].map((task) => world.checkout(task)));
  const [x, y, z] = [agents[0]!, agents[1]!, agents[2]!];
  const forecaster = new Forecaster(world.repository);
  const look = async () => {
    const live = [];
    for (const { checkout } of agents) live.push({ ...checkout, tip: (await importBranch(checkout)).tip });
    return await forecaster.look(live.toReversed());
  };
  x.commit({ a: 'x\n' });
  z.commit({ b: 'z\n' });
  expect(await look()).toEqual({ conflicts: [], began: [], stopped: [] });
  y.commit({ a: 'y\n' });
  const began = await look();
  const pair = {
    branches: [x.checkout.name, y.checkout.name],
    files: [{ path: 'a', why: expect.any(String) }],
  };
  expect(began).toMatchObject({ conflicts: [pair], began: [pair], stopped: [] });
  z.commit({ c: 'more\n' });
  expect(await look()).toMatchObject({ conflicts: [pair], began: [], stopped: [] });
  y.commit({ a: 'a\n' });
  expect(await look()).toMatchObject({ conflicts: [], began: [], stopped: [pair] });
  y.commit({ a: 'y\n' });
  await look();
  // What is not there any more conflicts with nobody: the conflict has ended.
  const tip = { ...x.checkout, tip: x.head() };
  expect(await forecaster.look([tip])).toMatchObject({ conflicts: [], began: [], stopped: [pair] });
});

test('[PLN7.14] what a branch inherited from a newer start is a conflict with the branch that holds it, and no change is none', async () => {
  using world = await makeWorld({ a: 'a\n', b: 'b\n' });
  const { home } = world;
  const [old, idle] = [await world.checkout('old'), await world.checkout('idle')];
  old.commit({ a: 'mine\n' });
  home.commit({ a: 'theirs\n' });
  const [newer, same] = [await world.checkout('newer'), await world.checkout('same')];
  newer.commit({ b: 'own\n' });
  const forecaster = new Forecaster(world.repository, async () => 'main');
  const look = async (agents: AgentPlace[]) => {
    const live = [];
    for (const { checkout } of agents) live.push({ ...checkout, tip: (await importBranch(checkout)).tip });
    return forecaster.look(live);
  };
  // Neither of these has changed anything, although their starts conflict with the work of the first.
  expect((await look([old, idle, same])).conflicts).toEqual([]);
  expect((await look([old, newer])).conflicts).toMatchObject([
    { branches: [old.checkout.name, 'main'], isBase: true, files: [{ path: 'a' }] },
  ]);
  // Their own changes conflict too: that is told for the files that both changed.
  old.commit({ b: 'mine\n' });
  expect((await look([old, newer])).conflicts).toMatchObject([
    { branches: [newer.checkout.name, old.checkout.name], isBase: false, files: [{ path: 'b' }] },
    { branches: [old.checkout.name, 'main'], isBase: true, files: [{ path: 'a' }] },
  ]);
  // It conflicts with main also when the other branch is gone, until it does no longer.
  expect(await look([old])).toMatchObject({ conflicts: [{ isBase: true }], stopped: [{ isBase: false }] });
  old.commit({ a: 'theirs\n' });
  expect(await look([old])).toMatchObject({ conflicts: [], stopped: [{ isBase: true }] });
});

test('[PLN7.11] what was found for two commits is not asked again', async () => {
  using world = await makeWorld({ a: 'a\n' });
  const x = await branchOf(world, 'x', { a: 'x\n' });
  const y = await branchOf(world, 'y', { a: 'y\n' });
  const live = [x, y].map((name) => ({
    name,
    tip: world.home.git('rev-parse', name),
    start: world.home.git('rev-parse', 'main'),
  }));
  const forecaster = new Forecaster(world.repository);
  // A branch whose commit is not there conflicts with nobody, and keeps nothing from being found about the others.
  const gone = { name: 'gone', tip: '1'.repeat(40), start: '2'.repeat(40) };
  expect((await forecaster.look([...live, gone])).began).toHaveLength(1);
  await forecaster.look(live);
  // Without its objects nobody could find out anything.
  rmSync(join(world.repository.gitDir, 'objects'), { recursive: true });
  expect(await forecaster.look(live)).toMatchObject({
    conflicts: [{ files: [{ path: 'a' }] }],
    began: [],
    stopped: [],
  });
});

test('[PLN6.14] a merge goes by the attributes of the tree it is made into, at every depth, and by those of the repository', async () => {
  const lines = (first: string, last: string): string => `${first}\n${'x\n'.repeat(9)}${last}\n`;
  using world = await makeWorld({
    '.gitattributes': '*.lock -merge\nCHANGELOG merge=union\n*.own merge=own\n',
    'deep/.gitattributes': '*.txt -merge\n',
    'p.lock': lines('1', '9'),
    CHANGELOG: 'begun\n',
    'deep/a.txt': lines('1', '9'),
    'by.info': lines('1', '9'),
    'by.own': lines('1', '9'),
    'a.txt': lines('1', '9'),
  });
  const { home, repository } = world;
  writeFileSync(join(repository.gitDir, 'info', 'attributes'), '*.info -merge\n');
  home.git('config', 'merge.own.driver', `touch ${join(world.folder, 'ran')}`);
  const all = ['p.lock', 'deep/a.txt', 'by.info', 'by.own', 'a.txt'];
  const files = (text: string): Record<string, string> => Object.fromEntries(all.map((name) => [name, text]));
  const l = await branchOf(world, 'l', { ...files(lines('L', '9')), CHANGELOG: 'begun\nleft\n' });
  const r = await branchOf(world, 'r', { ...files(lines('1', 'R')), CHANGELOG: 'begun\nright\n' });
  const merged = await mergeBranches(repository, { base: l, branches: [r] });
  expect(merged.conflict?.files.map(({ path }) => path).toSorted()).toEqual(
    ['by.info', 'by.own', 'deep/a.txt', 'p.lock'].toSorted(),
  );
  const live = [l, r].map((name) => ({
    name,
    tip: home.git('rev-parse', name),
    start: home.git('rev-parse', 'main'),
  }));
  const { began } = await new Forecaster(repository).look(live);
  expect(began[0]?.files).toEqual(merged.conflict?.files);
  expect(existsSync(join(world.folder, 'ran'))).toBe(false);
});

test('[PLN6.15] in a shallow clone a merge has the base it has in git, also for the forecast and at home', async () => {
  using origin = await makeWorld({ a: 'one\ntwo\n', b: 'b\n' });
  origin.home.commit({ c: 'c\n' }, 'second');
  using world = await makeShallow(origin);
  const { home, repository } = world;
  const agent = await world.checkout('l');
  agent.git('rm', '-q', 'b');
  agent.commit({ a: 'ONE\ntwo\n' });
  await importBranch(agent.checkout);
  const r = await branchOf(world, 'r', { r: 'r\n' });
  home.commit({ own: 'own\n' });
  const { commit } = await mergeBranches(repository, { base: agent.checkout.branch, branches: [r] });
  expect(home.git('ls-tree', '-r', '--name-only', commit!)).toBe('a\nc\nr');
  const live = [agent.checkout.branch, r].map((name) => ({
    name,
    tip: home.git('rev-parse', name),
    start: home.git('rev-parse', 'main'),
  }));
  expect((await new Forecaster(repository).look(live)).conflicts).toEqual([]);
  expect(await bringHome(repository, agent.checkout.branch)).toMatchObject({ merged: true });
  expect(home.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('a\nc\nown');
});

test('[PLN6.16] two branches that have nothing in common are not merged, as git refuses to', async () => {
  using world = await makeWorld({ a: 'a\n' });
  const agent = await world.checkout('a');
  agent.git('checkout', '-q', '--orphan', 'alone');
  agent.commit({ other: 'other\n' });
  await importBranch(agent.checkout);
  const { branch } = agent.checkout;
  const conflict = { branch, files: [{ path: '.', why: 'the two have no commit in common' }] };
  const merged = await mergeBranches(world.repository, { base: 'main', branches: [branch] });
  expect(merged).toEqual({ conflict });
  expect(await bringHome(world.repository, branch)).toEqual({ merged: false, conflicts: conflict.files });
});

/** Git 2.38 has no `merge-tree --stdin`; this one says so, and tells of every merge it was asked for. */
const OLD_GIT = (log: string): string => `
case "$*" in
version) echo 'git version 2.38.0'; exit 0 ;;
*merge-tree*--stdin*) echo "error: unknown option 'stdin'" >&2; exit 129 ;;
*merge-tree*) echo one >> '${log}' ;;
esac
exec "$GIT" "$@"`;

test('[PLN7.12] a git that cannot merge many pairs at once is asked one by one, with the same answers', async () => {
  using world = await makeWorld({ a: 'a\n', b: 'b\n' });
  const names = [];
  for (const [task, files] of Object.entries({ x: { a: 'x\n' }, y: { a: 'y\n' }, z: { b: 'z\n' } }))
    names.push(await branchOf(world, task, files));
  const live = names.map((name) => ({
    name,
    tip: world.home.git('rev-parse', name),
    start: world.home.git('rev-parse', 'main'),
  }));
  const log = join(world.folder, 'merges');
  const expected = await new Forecaster(world.repository).look(live);
  const found = await withAnotherGit(world.folder, OLD_GIT(log), async () => {
    const repository = await findRepository(world.repository.root, { home: null });
    return await new Forecaster(repository).look(live);
  });
  expect(found).toEqual(expected);
  expect(found.conflicts).toMatchObject([{ branches: [names[0], names[1]], files: [{ path: 'a' }] }]);
  expect(readFileSync(log, 'utf8')).toBe('one\n'.repeat(3));
});
