import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULTS, Engine, INTEGRATOR, type Clock, type Random } from '@reveille/core';
import { scriptedExecutor, withScript, type WrittenScript } from '@reveille/executors';
import type { Orchestrator, PlanId, PlanView, TaskView } from '@reveille/protocol';
import { openMemory, openSqlite, type Backend } from '@reveille/stores';
import { Boundary, BOUNDARY_DEFAULTS, type BoundarySettings } from '@reveille/worktrees';

/** A person's repository with one commit, in a folder of its own. */
export function makeRepository(): { folder: string; root: string; git: (...args: string[]) => string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-whole-')));
  const root = join(folder, 'shop');
  mkdirSync(root);
  const git = gitIn(root);
  git('init', '-q', '-b', 'main');
  write(root, { 'README.md': 'a shop\n', 'src/a.txt': 'one\ntwo\nthree\n' });
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  return { folder, root, git };
}

export function gitIn(root: string): (...args: string[]) => string {
  const who = { NAME: 'Ann', EMAIL: 'ann@example.com' };
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: who.NAME,
    GIT_AUTHOR_EMAIL: who.EMAIL,
    GIT_COMMITTER_NAME: who.NAME,
    GIT_COMMITTER_EMAIL: who.EMAIL,
  };
  return (...args) => execFileSync('git', args, { cwd: root, env, encoding: 'utf8' }).trimEnd();
}

export function write(root: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

/** The path of an edit that is a shell script to be run in the worktree, by an agent that has a shell. */
export const SHELL = '!sh';

function runIn(cwd: string, script: string): void {
  const env = { ...AGENT_ENV, PATH: process.env['PATH'] ?? '' };
  execFileSync('bash', ['-ec', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

const AGENT_ENV = { HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_EDITOR: 'true' } as const;

let ids = 0;
const random: Random = {
  next: () => Math.random(),
  id: () => `${Date.now().toString(36)}${process.pid.toString(36)}${(++ids).toString(36).padStart(4, '0')}`,
};

export interface Shop extends AsyncDisposable {
  readonly root: string;
  readonly git: (...args: string[]) => string;
  readonly person: Orchestrator;
  readonly as: Engine['as'];
  readonly worktrees: Boundary['worktrees'];
  readonly warnings: string[];
  /** A plan of scripted tasks, under way. */
  plan(tasks: Record<string, Part>, more?: PlanExtras): Promise<PlanId>;
  /** Waits until the plan has ended, or until something else is so. */
  until(plan: PlanId, enough?: (view: PlanView) => boolean | Promise<boolean>): Promise<PlanView>;
  task(plan: PlanId, name: string): Promise<TaskView>;
  /** How everything ended, and what the engine warned of: for a test that fails. */
  story(): Promise<string>;
  /** The files of a branch. */
  files(branch: string): string[];
}
export interface Part {
  readonly after?: readonly string[];
  readonly name?: string;
  readonly script: WrittenScript;
}

interface PlanExtras {
  readonly verify?: string;
  readonly baseBranch?: string;
  readonly integrate?: boolean;
}

interface ShopOptions {
  readonly settings?: Partial<BoundarySettings>;
  /** How deep tasks may be nested; as deep as by default unless told. */
  readonly depth?: number;
  /** What a resolver runs in its worktree before it reports success; `$THEIRS` is what it was to merge. */
  readonly resolver?: (name: string) => string;
  /** Instead of the door into its checkout. */
  readonly write?: (root: string, path: string, content: string) => void;
}

/** The engine with real checkouts and scripted agents, in this process. */
export async function openShop(options: ShopOptions = {}): Promise<Shop> {
  const { folder, root, git } = makeRepository();
  const backend = openMemory({ clock: systemClock });
  const run = await openEngine(backend, { ...options, root });
  const { person } = run;
  return {
    root,
    git,
    person,
    as: (caller) => run.engine.as(caller),
    worktrees: run.boundary.worktrees,
    warnings: run.warnings,
    plan: (tasks, more) => savePlan(person, root, tasks, more),
    async until(plan, enough = ({ plan: { state } }) => state !== 'active') {
      for (;;) {
        const view = await person.getPlan(plan);
        if (await enough(view)) return view;
        await sleep(20);
      }
    },
    async task(plan, name) {
      const view = (await person.getPlan(plan)).tasks.find(({ task }) => task.name === name);
      if (!view) throw new Error(`there is no task ${name}`);
      return view;
    },
    async story() {
      const tasks = await person.listTasks({});
      const ends = tasks.map(
        ({ task, end }) => `${task.name}: ${task.state} (${task.why}) ${end?.output ?? ''}`,
      );
      return [...ends, ...run.warnings].join('\n');
    },
    files: (branch) => git('ls-tree', '-r', '--name-only', branch).split('\n'),
    async [Symbol.asyncDispose]() {
      await run.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function savePlan(
  person: Orchestrator,
  root: string,
  tasks: Record<string, Part>,
  more: PlanExtras = {},
): Promise<PlanId> {
  const { plan } = await person.savePlan(
    {
      name: 'shop',
      repository: root,
      ...more,
      tasks: Object.entries(tasks).map(([id, { after = [], name, script }]) => ({
        ...(name === undefined ? {} : { name }),
        id,
        prompt: withScript(`do ${id}`, script),
        dependencies: [...after],
      })),
    },
    { start: true },
  );
  return plan.id;
}

export async function openEngine(
  backend: Pick<Backend, 'store' | 'dispatch'>,
  options: ShopOptions & { root: string },
) {
  const warnings: string[] = [];
  const settings = { ...BOUNDARY_DEFAULTS, ...options.settings };
  const log = (message: string, data: Record<string, unknown>): void =>
    void warnings.push(`${message} ${JSON.stringify(data)}`);
  const boundary = await Boundary.open({ settings, log });
  const scripted = scriptedExecutor({
    clock: systemClock,
    connect: (caller) => engine.as(caller),
    otherwise: async (agent) => {
      const [, theirs = ''] = /Merge the commit ([0-9a-f]+)/.exec(agent.task.prompt) ?? [];
      if (options.resolver && theirs !== '')
        await agent.edit(SHELL, `THEIRS=${theirs}\n${options.resolver(agent.task.name)}`);
      await agent.report('success', 'Done.');
    },
    write: async ({ task }, path, content) => {
      if (options.write) return options.write(options.root, path, content);
      if (path === SHELL) return runIn((await boundary.checkoutOf(task)).path, content);
      using door = await boundary.door(task, 'write');
      await door.writeFile(path, content);
    },
  });
  const integrator = boundary.integrator((caller) => engine.as(caller));
  const engine: Engine = new Engine({
    store: backend.store,
    dispatch: backend.dispatch,
    clock: systemClock,
    random,
    executors: {
      backends: () => ['scripted'],
      get: (name) => ({ scripted, [INTEGRATOR.backend]: integrator })[name],
    },
    agents: { names: () => ['agent', 'coder'] },
    workspaces: boundary.worktrees,
    host: 'test',
    settings: {
      ...DEFAULTS,
      depth: { ...DEFAULTS.depth, orchestrator: options.depth ?? DEFAULTS.depth.orchestrator },
    },
    log: (level, message, data) => level !== 'debug' && log(message, data),
  });
  await engine.start();
  return {
    engine,
    boundary,
    warnings,
    person: engine.as({ kind: 'person', name: 'ann' }),
    async close() {
      await engine.stop();
      await boundary[Symbol.asyncDispose]();
    },
  };
}

export const openDatabase = (folder: string): Promise<Backend> =>
  openSqlite({ path: join(folder, 'reveille.db'), clock: systemClock });
