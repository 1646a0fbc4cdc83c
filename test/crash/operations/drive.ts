import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gitIn, write } from '../../shop.ts';
import type { Victims } from './mutations.ts';

const VICTIM = fileURLToPath(new URL('victim.ts', import.meta.url));
/** Shared by all of them: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../../../.cache/compiled', import.meta.url));
const PATIENCE_MS = 120_000;

export interface KillResult {
  readonly scene: string;
  /** The act before which it was killed, or, of a program, in the middle of which. */
  readonly at: number;
  readonly act: string;
  readonly victims: Victims;
  readonly problems: readonly string[];
}

export const describeKill = ({ scene, at, act, victims, problems }: KillResult): string =>
  [
    `npm run crash -- --operations --scene ${scene} --at ${at} --victims ${victims}   (${act})`,
    ...problems.map((problem) => `  ${problem}`),
  ].join('\n');

/** A world as it is before the operation, which can be laid out again and again at the same paths. */
export class PreparedScene implements Disposable {
  readonly name: string;
  readonly #folder: string;
  readonly #kept: string;
  readonly #world: string;
  /** The acts of the operation when nobody kills it. */
  readonly acts: readonly string[];

  private constructor(name: string, folder: string, acts: readonly string[]) {
    this.name = name;
    this.#folder = folder;
    this.#world = join(folder, 'world');
    this.#kept = join(folder, 'kept');
    this.acts = acts;
  }

  static async prepare(name: string): Promise<PreparedScene> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), `reveille-operation-${name}-`)));
    const world = join(folder, 'world');
    makeShop(join(world, 'shop'));
    await live([name, world, 'prepare']);
    const scene = new PreparedScene(name, folder, []);
    cpSync(world, scene.#kept, COPY);
    const { acts } = await live([name, world, 'act']);
    if (!acts) throw new Error(`${name} did not end`);
    return new PreparedScene(name, folder, acts);
  }

  /** Lets a process carry it out, kills it there, and looks at what the next ones make of it. */
  async killAt(at: number, victims: Victims, named = ''): Promise<KillResult> {
    rmSync(this.#world, { recursive: true, force: true });
    cpSync(this.#kept, this.#world, COPY);
    const root = join(this.#world, 'shop');
    const before = headOf(root);
    const first = await live([this.name, this.#world, 'act', String(at), victims, named]);
    const result = { scene: this.name, at, act: first.killed ?? 'it ended before', victims };
    await quiet(this.#folder);
    try {
      const again = await live([this.name, this.#world, 'again']);
      const { head: between, status } = again.settled ?? { head: '', status: 'unknown' };
      const after = headOf(root);
      const problems = [
        ...(status === '' ? [] : [`after the next start the person's checkout has changes: ${status}`]),
        ...(this.name === 'bring-home' || after === before ? [] : ["the person's branch has moved"]),
        ...([before, after].includes(between) ? [] : ["the person's branch is neither old nor new"]),
        ...(again.answer ?? ['the operation did not answer when it was called again']),
        ...leftovers(this.#world, root),
      ];
      return { ...result, problems };
    } catch (error) {
      return { ...result, problems: [String(error)] };
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

const COPY = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true } as const;

function makeShop(root: string): void {
  write(root, {
    'src/a.txt': 'one\ntwo\nthree\n',
    'src/b.txt': 'b\n',
    'old/0.txt': '0\n',
    'old/1.txt': '1\n',
    'old/2.txt': '2\n',
    '.gitignore': '*.log\n',
  });
  const git = gitIn(root);
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
}

interface Said {
  readonly acts?: readonly string[];
  readonly killed?: string;
  /** The person's checkout when a new life has settled what was left half done. */
  readonly settled?: { readonly head: string; readonly status: string };
  readonly answer?: readonly string[];
}

/** One life; what it said. It leads a group of processes of its own. */
async function live(args: readonly string[]): Promise<Said> {
  const child = spawn(process.execPath, ['--conditions=source', VICTIM, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  const patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  // Not `close`: a git that lives on holds its output open.
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('exit', (...how) => setImmediate(() => resolve(how)));
  });
  clearTimeout(patience);
  await sleep(5);
  const said = Object.assign(
    {},
    ...out
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Said),
  ) as Said;
  const wasToDie = said.killed !== undefined && signal === 'SIGKILL';
  if (code !== 0 && !wasToDie)
    throw new Error(`a life (${args.join(' ')}) ended with ${code ?? signal}: ${err.slice(0, 2_000)}`);
  return said;
}

/** Until no git that outlived its parent is at work here. */
async function quiet(folder: string): Promise<void> {
  const isHere = (pid: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
    } catch {
      // It has just ended, is a zombie, or belongs to somebody else.
      return false;
    }
  };
  if (!existsSync('/proc/self')) return await sleep(500);
  while (readdirSync('/proc').some((name) => /^\d+$/.test(name) && isHere(name))) await sleep(10);
}

const headOf = (root: string): string => gitIn(root)('rev-parse', 'HEAD');
const statusOf = (root: string): string => gitIn(root)('status', '--porcelain');

/** Whatever must not be there when all is done. */
function leftovers(world: string, root: string): string[] {
  const git = gitIn(root);
  const fsck = git('fsck', '--full', '--strict', '--no-dangling');
  const status = statusOf(root);
  const files = readdirSync(join(root, '.git'), { recursive: true }).map(String);
  const locks = files.filter((name) => /\.lock$|\.keep$|(?:^|\/)reveille-|tmp_/.test(name));
  const scratches = readdirSync(world, { recursive: true })
    .map(String)
    .filter((name) => /\/scratch\/[^/]+$/.test(name) || /\/stage\/[^/]+$/.test(name));
  const fences = git('for-each-ref', 'refs/reveille/fence');
  const ignores = readFileSync(join(root, '.gitignore'), 'utf8');
  return [
    ...(fsck === '' ? [] : [`fsck: ${fsck}`]),
    ...(status === '' ? [] : [`the person's checkout has changes: ${status}`]),
    ...(locks.length === 0 ? [] : [`left in .git: ${locks.join(', ')}`]),
    ...(scratches.length === 0 ? [] : [`left of the work: ${scratches.join(', ')}`]),
    ...(fences === '' ? [] : [`left refs: ${fences}`]),
    ...(ignores === '*.log\n' ? [] : ['.gitignore was changed']),
  ];
}
