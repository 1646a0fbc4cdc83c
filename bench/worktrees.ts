import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createCheckout,
  fillPool,
  findRepository,
  Forecaster,
  openSandbox,
  removeCheckout,
  resolveStart,
  WORKTREE_DEFAULTS,
  type Checkout,
  type FoundRepository,
  type WorktreeSettings,
} from '@reveille/worktrees';
import type { Measure } from './measures.ts';
import { median, temporaryFolder } from './world.ts';

const ROUNDS = 3;
const AUTHOR = { name: 'Bench', email: 'bench@reveille.invalid' };
const ms = (value: number): string =>
  value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(1)} ms`;

/** C: from nothing to a checkout of 50,000 files, and away with it, against git's own worktrees in the same run. */
export async function measureC(): Promise<Measure[]> {
  using folder = temporaryFolder();
  const root = join(folder.path, 'large');
  makeLarge(root, 50_000);
  const repository = await findRepository(root, { home: null });
  const plain: number[] = [];
  const cold: number[] = [];
  const warm: number[] = [];
  const removed: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    plain.push(plainWorktree(root, join(folder.path, `plain-${round}`)));
    const first = await timed(() => create(repository, `cold-${round}`, { pool: 0 }));
    cold.push(first.ms);
    removed.push(await remove(first.value));
    const { commit } = await resolveStart(repository, { dirty: 'head' });
    await fillPool(repository, { settings: { ...WORKTREE_DEFAULTS, pool: 1 }, commit });
    const second = await timed(() => create(repository, `warm-${round}`, { pool: 1 }));
    warm.push(second.ms);
    removed.push(await remove(second.value));
  }
  const [bare, one, two, gone] = [median(plain), median(cold), median(warm), median(removed)];
  const against = `plain git worktree add ${ms(bare)}`;
  const numbers = { plain: bare, cold: one, warm: two, removed: gone };
  return [
    {
      name: 'C pool',
      what: 'a checkout of 50,000 files, pool',
      value: ms(two),
      baseline: `${((two / bare) * 100).toFixed(1)} % of ${against}`,
      goal: '≤ 0.5 s or ≤ 10 %',
      met: two <= 500 || two <= bare / 10,
      numbers,
    },
    {
      name: 'C cold',
      what: 'the same, from nothing',
      value: ms(one),
      baseline: `${(one / bare).toFixed(2)} × ${against}`,
      goal: '≤ 1.2 ×',
      met: one <= bare * 1.2,
      numbers,
    },
    {
      name: 'C removal',
      what: 'removal, until it returns',
      value: ms(gone),
      baseline: `${((gone / bare) * 100).toFixed(1)} % of ${against}`,
      goal: '< 50 ms',
      met: gone < 50,
      numbers,
    },
  ];
}

/** F: every pair of ten branches of that repository, tested for conflicts. */
export async function measureF(): Promise<Measure> {
  using folder = temporaryFolder();
  const root = join(folder.path, 'large');
  makeLarge(root, 50_000);
  const branches = Array.from({ length: 10 }, (_, i) => `task-${i}`);
  for (const [i, branch] of branches.entries()) {
    git(root, ['checkout', '-q', '-b', branch, 'main']);
    for (let n = 0; n < 20; n++) writeFileSync(join(root, fileName(n * 100 + (i % 3))), `${branch}\n`);
    git(root, ['commit', '-q', '-a', '-m', branch]);
  }
  const repository = await findRepository(root, { home: null });
  const live = branches.map((name) => ({ name, tip: git(root, ['rev-parse', name]) }));
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    times.push((await timed(() => new Forecaster(repository).look(live))).ms);
  const one = timedSync(() => git(root, ['merge-tree', '--write-tree', 'task-0', 'task-1'], [1]));
  const all = median(times);
  return {
    name: 'F',
    what: 'forecast of 10 branches, 45 pairs',
    value: ms(all),
    baseline: `${(all / one).toFixed(1)} × one bare git merge-tree (${ms(one)})`,
    goal: '< 1 s',
    met: all < 1_000,
    numbers: { all, one },
  };
}

/** S: what the sandbox adds to a command, against the bare command and the barest bubblewrap. */
export async function measureS(): Promise<Measure> {
  using folder = temporaryFolder();
  const root = join(folder.path, 'small');
  makeLarge(root, 10);
  const repository = await findRepository(root, { home: null });
  const checkout = await create(repository, 'one', { pool: 0 });
  await using sandbox = await openSandbox({ setting: 'require', warn: () => undefined });
  const confinement = { checkout, write: true, network: { kind: 'on' } } as const;
  const [bare, wrapped, ours]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < 30; round++) {
    bare.push((await timed(() => run(['/bin/true']))).ms);
    wrapped.push((await timed(() => run(['bwrap', '--ro-bind', '/', '/', '--unshare-all', '/bin/true']))).ms);
    ours.push((await timed(() => sandbox.run(['/bin/true'], confinement))).ms);
  }
  const [base, barest, full] = [median(bare), median(wrapped), median(ours)];
  return {
    name: 'S',
    what: 'a command in the sandbox',
    value: `+${ms(full - base)}`,
    baseline: `bare ${ms(base)}, barest bubblewrap +${ms(barest - base)}`,
    goal: '≤ 20 ms or ≤ 2 × bare bubblewrap',
    met: full - base <= 20 || full <= 2 * barest,
    numbers: { base, barest, full },
  };
}

async function create(
  repository: FoundRepository,
  task: string,
  settings: Partial<WorktreeSettings>,
): Promise<Checkout> {
  const start = await resolveStart(repository, { dirty: 'head' });
  const spec = { plan: 'bench', task, id: task, start, author: AUTHOR };
  return (await createCheckout(repository, { ...spec, settings: { ...WORKTREE_DEFAULTS, ...settings } }))
    .checkout;
}

async function remove(checkout: Checkout): Promise<number> {
  const { ms: took, value } = await timed(() => removeCheckout(checkout));
  await value.deleted;
  return took;
}

function plainWorktree(root: string, path: string): number {
  const took = timedSync(() => git(root, ['worktree', 'add', '-q', '--detach', path]));
  rmSync(path, { recursive: true, force: true });
  git(root, ['worktree', 'prune']);
  return took;
}

const fileName = (n: number): string =>
  `src/${String(n % 100).padStart(2, '0')}/${String(Math.floor(n / 100) % 50)}/file-${n}.ts`;

function makeLarge(root: string, files: number): void {
  mkdirSync(root, { recursive: true });
  git(root, ['init', '-q', '-b', 'main']);
  const made = new Set<string>();
  for (let n = 0; n < files; n++) {
    const path = join(root, fileName(n));
    const folder = join(path, '..');
    if (!made.has(folder)) mkdirSync(folder, { recursive: true });
    made.add(folder);
    writeFileSync(path, `export const value${n} = ${n};\n${'// a line like many others\n'.repeat(20)}`);
  }
  git(root, ['add', '-A']);
  git(root, ['commit', '-q', '-m', 'all of it']);
  git(root, ['repack', '-q', '-a', '-d']);
}

function git(cwd: string, args: readonly string[], accept: readonly number[] = []): string {
  const identity = ['-c', 'user.name=Bench', '-c', 'user.email=bench@reveille.invalid', '-c', 'gc.auto=0'];
  try {
    return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8' }).trim();
  } catch (error) {
    if (error instanceof Error && 'status' in error && accept.includes(Number(error.status))) return '';
    throw error;
  }
}

async function run([program = '', ...args]: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: 'ignore' });
  await new Promise((resolve) => child.once('close', resolve));
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const began = performance.now();
  const value = await work();
  return { ms: performance.now() - began, value };
}

function timedSync(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
