import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
import { median, memoryFolder, temporaryFolder } from './world.ts';

const ROUNDS = 3;
/** Ten trees of 50,000 files, and the repository. */
const ROOM = 4e9;
const AUTHOR = { name: 'Bench', email: 'bench@reveille.invalid' };
const ms = (value: number): string =>
  value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(1)} ms`;

/** A slow disk gets fewer rounds: of ten trees, it would take minutes to write and delete them. */
const TIME_FOR_ROUNDS_MS = 30_000;

/** C: from nothing to a checkout of 50,000 files, and away with it, against git's own worktrees in the same run. */
export async function measureC(): Promise<Measure[]> {
  using folder = memoryFolder(ROOM);
  const root = join(folder.path, 'large');
  await makeLarge(root, { files: 50_000 });
  git(root, ['reset', '-q', '--hard']);
  const repository = await findRepository(root, { home: null });
  const { plain, cold, warm, made } = await inRounds(repository);
  // At the end: they are deleted behind, which would be in the way of what is measured above.
  const removed: number[] = [];
  const deleted: Promise<void>[] = [];
  for (const checkout of made) {
    const removal = await timed(() => removeCheckout(checkout));
    removed.push(removal.ms);
    deleted.push(removal.value.deleted);
  }
  await Promise.all([
    ...deleted,
    ...plain.map((_, i) => run(['rm', '-rf', join(folder.path, `plain-${i}`)])),
  ]);
  const [bare, one, two, gone] = [median(plain), median(cold), median(warm), median(removed)];
  const where = folder.path.startsWith('/dev/shm/') ? 'in memory' : `in ${dirname(folder.path)}`;
  const against = `plain git worktree add ${ms(bare)}, ${where}, ${plain.length} rounds`;
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

/** Alternating, so that what else the machine does hits all of them alike. */
async function inRounds(repository: FoundRepository): Promise<{
  readonly plain: readonly number[];
  readonly cold: readonly number[];
  readonly warm: readonly number[];
  readonly made: readonly Checkout[];
}> {
  const { root } = repository;
  const { commit } = await resolveStart(repository, { dirty: 'head' });
  const [plain, cold, warm]: [number[], number[], number[]] = [[], [], []];
  const made: Checkout[] = [];
  const began = performance.now();
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(root, '..', `plain-${round}`);
    plain.push(timedSync(() => git(root, ['worktree', 'add', '-q', '--detach', path])));
    const first = await timed(() => create(repository, `cold-${round}`, { pool: 0 }));
    await fillPool(repository, { settings: { ...WORKTREE_DEFAULTS, pool: 1 }, commit });
    const second = await timed(() => create(repository, `warm-${round}`, { pool: 1 }));
    cold.push(first.ms);
    warm.push(second.ms);
    made.push(first.value, second.value);
    if (performance.now() - began > TIME_FOR_ROUNDS_MS) break;
  }
  return { plain, cold, warm, made };
}

/** F: every pair of ten branches of that repository, tested for conflicts. */
export async function measureF(): Promise<Measure> {
  using folder = memoryFolder(ROOM);
  const root = join(folder.path, 'large');
  const branches = Array.from({ length: 10 }, (_, i) => `task-${i}`);
  await makeLarge(root, { files: 50_000, branches });
  const repository = await findRepository(root, { home: null });
  const start = git(root, ['rev-parse', 'main']);
  const live = branches.map((name) => ({ name, tip: git(root, ['rev-parse', name]), start }));
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
  await makeLarge(root, { files: 10 });
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

const fileName = (n: number): string =>
  `src/${String(n % 100).padStart(2, '0')}/${String(Math.floor(n / 100) % 50)}/file-${n}.ts`;

/**
 * One stream into one pack: fifty thousand loose objects would take longer to write, and to pack, than all that is
 * measured. Each branch changes twenty files, of which it shares a third with others. Nothing is checked out.
 */
async function makeLarge(
  root: string,
  { files, branches = [] }: { files: number; branches?: readonly string[] },
): Promise<void> {
  mkdirSync(root, { recursive: true });
  git(root, ['init', '-q', '-b', 'main']);
  const child = spawn('git', ['fast-import', '--quiet'], { cwd: root, stdio: ['pipe', 'ignore', 'inherit'] });
  const closed = once(child, 'close');
  child.stdin.write(commitOf('main', null));
  for (let n = 0; n < files; n++) {
    const text = `export const value${n} = ${n};\n${'// a line like many others\n'.repeat(20)}`;
    if (!child.stdin.write(fileOf(n, text))) await once(child.stdin, 'drain');
  }
  for (const [i, branch] of branches.entries()) {
    child.stdin.write(commitOf(branch, 'main'));
    for (let n = 0; n < 20; n++) child.stdin.write(fileOf(n * 100 + (i % 3), `${branch}\n`));
  }
  child.stdin.end();
  const [code] = await closed;
  if (code !== 0) throw new Error(`git fast-import failed (${code})`);
}

const commitOf = (branch: string, from: string | null): string =>
  `commit refs/heads/${branch}\ncommitter Bench <bench@reveille.invalid> 0 +0000\ndata 0\n${from === null ? '' : `from refs/heads/${from}\n`}`;
const fileOf = (n: number, text: string): string =>
  `M 644 inline ${fileName(n)}\ndata ${text.length}\n${text}`;

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
