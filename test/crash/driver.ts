import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkAfterKill, checkAtEnd, type Problem } from './checks.ts';
import { chooseKill, describeKill, type Kill } from './kills.ts';
import { livingIn } from './processes.ts';
import type { Point } from './points.ts';
import { takeSnapshot } from './snapshot.ts';
import { chanceFrom } from './world.ts';

/** A point that is not reached by then is not on this life's way; it is killed all the same. */
const POINT_WITHIN_MS = 400;
/** With nobody to kill it, all that was begun ends within this. A lost wake-up would take until the next sweep. */
const FINISH_WITHIN_MS = 20_000;
const VICTIM = fileURLToPath(new URL('./victim.ts', import.meta.url));

export interface WorldOptions {
  readonly seed: number;
  readonly cycles: number;
  /** Kill at this point only. */
  readonly point?: Point | undefined;
  /** Where compiled sources are kept between lives: three times as quick. */
  readonly cache?: string;
  /** Keep the folder of a world that failed. */
  readonly keep?: boolean;
}

export interface WorldResult {
  readonly seed: number;
  readonly cycles: number;
  /** By point, and `random`, `signal`. */
  readonly kills: ReadonlyMap<string, number>;
  readonly problems: readonly (Problem & { readonly cycle: string })[];
  /** From the start of the process to its first effect. */
  readonly firstEffectMs: readonly number[];
  /** How long the last life, which nobody killed, took to end everything. */
  readonly finishMs: number;
  readonly tasks: number;
}

/** One database and the lives of one victim after another on it. */
export async function runWorld(options: WorldOptions): Promise<WorldResult> {
  const folder = mkdtempSync(join(tmpdir(), `reveille-crash-${options.seed}-`));
  let failed = false;
  try {
    const result = await new Lives(folder, options).run();
    failed = result.problems.length > 0;
    return result;
  } finally {
    for (const { pid } of livingIn(folder)) end(pid);
    if (failed && options.keep) console.error(`kept: ${folder}`);
    else rmSync(folder, { recursive: true });
  }
}

/** Compiles the victim's sources once, so that its lives need not. */
export async function warmUp(cache: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const child = startVictim(['warm-up'], { NODE_COMPILE_CACHE: cache });
  await child.ended;
}

class Lives {
  readonly #folder: string;
  readonly #options: WorldOptions;
  readonly #chance: () => number;
  readonly #kills = new Map<string, number>();
  readonly #problems: (Problem & { cycle: string })[] = [];
  readonly #firstEffectMs: number[] = [];
  #life = 0;

  constructor(folder: string, options: WorldOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#chance = chanceFrom(options.seed);
  }

  async run(): Promise<WorldResult> {
    const { seed, cycles, point } = this.#options;
    for (let cycle = 0; cycle < cycles && this.#problems.length === 0; cycle++) {
      await this.#cycle(chooseKill({ cycle, world: seed, chance: this.#chance, only: point }));
    }
    const finishMs = this.#problems.length === 0 ? await this.#finish() : 0;
    const tasks = takeSnapshot(this.#folder)?.tasks.size ?? 0;
    const found = { kills: this.#kills, problems: this.#problems, firstEffectMs: this.#firstEffectMs };
    return { seed, cycles, ...found, finishMs, tasks };
  }

  async #cycle(kill: Kill): Promise<void> {
    const victim = this.#start(kill.how === 'point' ? { CRASH_AT: `${kill.point}:${kill.hit}` } : {});
    const over = new AbortController();
    const killing = endBy(victim, kill, over.signal);
    const { code, signal, stderr } = await victim.ended;
    over.abort();
    const forced = await killing;
    const name = nameOf(kill, forced);
    this.#kills.set(name, (this.#kills.get(name) ?? 0) + 1);
    const cycle = `life ${this.#life}, ${describeKill(kill)}`;
    const orderly = kill.how === 'signal' ? code === 0 : signal === 'SIGKILL';
    if (!orderly) this.#add(cycle, [{ kind: 'broken', text: `it ended with ${code ?? signal}: ${stderr}` }]);
    // What an earlier life left is ended when its task is taken up again; what this one started, it has stopped.
    if (kill.how === 'signal') this.#checkNobodyLeft(cycle, (command) => command.includes(` ${this.#life} `));
    this.#checkLog(cycle);
    this.#add(cycle, checkAfterKill(this.#folder, takeSnapshot(this.#folder)));
  }

  /** The life that is left alone. */
  async #finish(): Promise<number> {
    const began = performance.now();
    const victim = this.#start({}, 'finish');
    const stuck = new AbortController();
    const giveUp = later(FINISH_WITHIN_MS, true, { signal: stuck.signal }).then(
      () => victim.child.kill('SIGKILL'),
      () => false,
    );
    const { code, signal, stderr } = await victim.ended;
    stuck.abort();
    const cycle = `life ${this.#life}, the last`;
    if (await giveUp)
      this.#add(cycle, [{ kind: 'stuck', text: `it did not end within ${FINISH_WITHIN_MS} ms` }]);
    else if (code !== 0)
      this.#add(cycle, [{ kind: 'broken', text: `it ended with ${code ?? signal}: ${stderr}` }]);
    this.#checkNobodyLeft(cycle);
    this.#checkLog(cycle);
    const snapshot = takeSnapshot(this.#folder);
    this.#add(cycle, [...checkAfterKill(this.#folder, snapshot), ...checkAtEnd(this.#folder, snapshot)]);
    return performance.now() - began;
  }

  #start(env: Record<string, string>, ...mode: string[]): Victim {
    const { seed, cache } = this.#options;
    this.#life++;
    const compiled: Record<string, string> = cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };
    const began = performance.now();
    const victim = startVictim([this.#folder, String(this.#life), String(seed), ...mode], {
      ...env,
      ...compiled,
    });
    void victim.first.then((any) => any && this.#firstEffectMs.push(performance.now() - began));
    return victim;
  }

  #add(cycle: string, problems: readonly Problem[]): void {
    this.#problems.push(...problems.map((problem) => ({ ...problem, cycle })));
  }

  #checkNobodyLeft(cycle: string, which: (command: string) => boolean = () => true): void {
    const left = livingIn(this.#folder).filter(({ command }) => which(command));
    this.#add(
      cycle,
      left.map(({ command }) => ({ kind: 'broken', text: `a process was left: ${command}` })),
    );
  }

  /** What the engine calls an error is a defect; a warning is about a store that failed, and here none does. */
  #checkLog(cycle: string): void {
    const lines = readLog(this.#folder).filter((line) => line.startsWith(`${this.#life} `));
    this.#add(
      cycle,
      lines.map((text) => ({ kind: 'broken', text })),
    );
  }
}

export interface Victim {
  readonly child: ChildProcess;
  /** Its first effect; false if it ended without any. */
  readonly first: Promise<boolean>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
}

export function startVictim(args: readonly string[], env: Readonly<Record<string, string>>): Victim {
  const child = spawn(process.execPath, ['--conditions=source', VICTIM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const ended = new Promise<Awaited<Victim['ended']>>((resolve) => {
    // Not `close`: agents that outlive it hold its stderr open.
    child.on('exit', (code, signal) => setImmediate(() => resolve({ code, signal, stderr })));
  });
  const first = new Promise<boolean>((resolve) => {
    child.stdout.on('data', () => resolve(true));
    void ended.then(() => resolve(false));
  });
  return { child, first, ended };
}

function nameOf(kill: Kill, missed: boolean): string {
  if (kill.how === 'random') return 'random';
  if (kill.how === 'signal') return kill.signal;
  return missed ? `(on the way to ${kill.point})` : kill.point;
}

/** Sees to it that this life ends. True: it had to be killed because it never came to its point. */
async function endBy(victim: Victim, kill: Kill, over: AbortSignal): Promise<boolean> {
  try {
    if (kill.how !== 'random' || kill.from === 'first effect') await victim.first;
    await later(kill.how === 'point' ? POINT_WITHIN_MS : kill.afterMs, undefined, { signal: over });
    const stops = kill.how === 'signal' || (kill.how === 'point' && kill.point === 'stopping');
    victim.child.kill(stops ? (kill.how === 'signal' ? kill.signal : 'SIGTERM') : 'SIGKILL');
    if (!stops) return true;
    await later(FINISH_WITHIN_MS, undefined, { signal: over });
    victim.child.kill('SIGKILL');
    return true;
  } catch {
    return false; // it ended before
  }
}

function readLog(folder: string): string[] {
  try {
    return readFileSync(join(folder, 'log'), 'utf8').split('\n');
  } catch {
    return []; // nothing was said
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}
