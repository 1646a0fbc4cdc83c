import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULTS, Engine, INTEGRATOR, type Clock } from '@reveille/core';
import { scriptedExecutor } from '@reveille/executors';
import {
  ReveilleError,
  type Caller,
  type Message,
  type Orchestrator,
  type PlanId,
  type SessionId,
  type TaskId,
} from '@reveille/protocol';
import { openSqlite, type Backend } from '@reveille/stores';
import { Boundary, BOUNDARY_DEFAULTS } from '@reveille/worktrees';
import { systemClock, systemRandom } from '@reveille/daemon/system';
import { Probe, type Happening } from './probe.ts';
import type { DemoBackend } from './demo-backends.ts';
import { drawHistory, makeRepository } from './repository.ts';
import type { Owner, story } from './story.ts';

const AGENTS = ['agent', 'architect', 'coder', 'product', 'reviewer', 'tester'];

export interface Stage {
  readonly probe: Probe;
  readonly orchestrator: Orchestrator;
  readonly owner: SessionId;
  readonly plan: PlanId;
  /** What is asked now, by whom. */
  readonly questions: ReadonlyMap<TaskId, string>;
  /** What went wrong inside, for whoever wants to report it. */
  readonly warnings: readonly string[];
  readonly folder: string;
  /** The history of the plan's one branch, drawn; empty if it was not integrated. */
  history(): Promise<readonly string[]>;
  /** Ends the engine and its store, and deletes the folder unless it is to be kept. */
  close(): Promise<void>;
}

interface SetUp {
  readonly told: ReturnType<typeof story>;
  readonly keep: boolean;
  readonly happened: (happening: Happening, at: number) => void;
  /** Whose real agents play it; null: scripted ones. */
  readonly backend?: DemoBackend | null;
}

type Connect = (caller: Caller) => Orchestrator;

/**
 * The real engine on a real SQLite file and a real repository, in a folder of its own, with scripted agents in real
 * worktrees, and the plan under way.
 */
export async function setUp({ told, keep, happened, backend: agents = null }: SetUp): Promise<Stage> {
  const clock = systemClock();
  const probe = new Probe(clock, happened);
  const folder = makeFolder();
  const undo = new AsyncDisposableStack();
  undo.defer(sweeping(folder, keep));
  try {
    const warnings: string[] = [];
    const warn = (warning: string): void => void warnings.push(warning);
    const opening = { folder, clock, probe, warn, undo };
    const connect = agents ? await openOn(agents, opening) : await openScripted(opening);
    const root = join(folder, 'orders-api');
    await makeRepository(root);
    const { orchestrator, owner, self, questions, stop } = await seat(connect, {
      clock,
      probe,
      warn,
      says: told.owner,
      repository: root,
    });
    undo.defer(stop);
    probe.begin();
    const { plan } = await self.savePlan({ ...told.plan, repository: root }, { start: true });
    return {
      probe,
      orchestrator,
      owner,
      plan: plan.id,
      questions,
      warnings,
      folder,
      history: () => historyOf(orchestrator, plan.id, root),
      close: () => undo.disposeAsync(),
    };
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

interface Opening {
  readonly folder: string;
  readonly clock: Clock;
  readonly probe: Probe;
  readonly warn: (warning: string) => void;
  readonly undo: AsyncDisposableStack;
}

/** The engine alone: scripted agents need nothing of a daemon. */
async function openScripted({ folder, clock, probe, warn, undo }: Opening): Promise<Connect> {
  const backend = await openSqlite({ path: join(folder, 'reveille.db'), clock });
  undo.defer(() => backend.close());
  const boundary = await Boundary.open({ settings: SETTINGS, log: (message) => warn(message) });
  undo.use(boundary);
  const watched = { ...backend, store: probe.store(backend.store) };
  const engine = compose({ backend: watched, boundary, clock, probe, warn });
  await engine.start();
  undo.defer(() => engine.stop());
  return (caller) => engine.as(caller);
}

/** Real agents reach their tools through a daemon, which most demos do without. */
async function openOn(backend: DemoBackend, { folder, probe, warn, undo }: Opening): Promise<Connect> {
  const { openRealAgents } = await import('./real-agents.ts');
  const { connect, close } = await openRealAgents({ backend, folder, probe, warn });
  undo.defer(close);
  return connect;
}

/** No pool: nobody waits for the next demo. */
const SETTINGS = { ...BOUNDARY_DEFAULTS, worktrees: { ...BOUNDARY_DEFAULTS.worktrees, pool: 0 } };

async function historyOf(orchestrator: Orchestrator, id: PlanId, root: string): Promise<readonly string[]> {
  const { plan } = await orchestrator.getPlan(id);
  const end = plan.integration ? (await orchestrator.getTask(plan.integration)).end : null;
  return end?.work?.commit ? drawHistory(root, end.work.branch) : [];
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'reveille-demo-'));
  } catch (cause) {
    const words = `No folder can be made in ${tmpdir()}. Set TMPDIR to one that you can write to.`;
    throw new ReveilleError('store_failed', words, { cause });
  }
}

/** Deletes the folder, also if the process is made to exit before it comes to that. */
function sweeping(folder: string, keep: boolean): () => void {
  const sweep = (): void => (keep ? undefined : rmSync(folder, { recursive: true, force: true }));
  process.once('exit', sweep);
  return () => {
    process.off('exit', sweep);
    sweep();
  };
}

interface Parts {
  readonly backend: Backend;
  readonly boundary: Boundary;
  readonly clock: Clock;
  readonly probe: Probe;
  readonly warn: (warning: string) => void;
}

function compose({ backend, boundary, clock, probe, warn }: Parts): Engine {
  const connect: Parameters<typeof scriptedExecutor>[0]['connect'] = (caller) => engine.as(caller);
  const scripted = scriptedExecutor({
    clock,
    connect,
    write: async ({ task }, path, content) => {
      using door = await boundary.door(task, 'write');
      await door.writeFile(path, content);
    },
  });
  const executors = new Map([
    ['scripted', probe.executor(scripted)],
    [INTEGRATOR.backend, probe.executor(boundary.integrator(connect))],
  ]);
  const engine: Engine = new Engine({
    store: backend.store,
    dispatch: backend.dispatch,
    clock,
    random: systemRandom(),
    executors: { backends: () => ['scripted'], get: (name) => executors.get(name) },
    workspaces: boundary.worktrees,
    agents: { names: () => AGENTS },
    host: 'demo',
    settings: DEFAULTS,
    log: (level, message, data) => level !== 'debug' && warn(`${message} ${JSON.stringify(data)}`),
  });
  return engine;
}

interface Seat {
  readonly clock: Clock;
  readonly probe: Probe;
  readonly warn: (warning: string) => void;
  readonly says: Owner;
  readonly repository: string;
}

/** The person who owns the plan: a session that is told how its tasks end, and answers a question after a while. */
async function seat(connect: Connect, { clock, probe, warn, says, repository }: Seat) {
  const orchestrator = connect({ kind: 'person', name: 'you' });
  const { id: owner } = await orchestrator.openSession('chat', 'you', { repository });
  const self = connect({ kind: 'session', session: owner });
  const questions = new Map<TaskId, string>();
  const timers = new Set<() => void>();
  const answer = ({ kind, task, request, text }: Message): void => {
    if (kind !== 'question' || !task || !request) return;
    questions.set(task, text.split('\n', 1)[0] ?? '');
    const cancel = clock.after(says.afterMs, () => {
      timers.delete(cancel);
      questions.delete(task);
      self.answer({ request, answer: says.answer }).catch((error: unknown) => warn(String(error)));
    });
    timers.add(cancel);
  };
  await self.attach(owner, async (deliveries) => {
    probe.handled(deliveries.map(({ message }) => message.id));
    for (const { message } of deliveries) answer(message);
  });
  return { orchestrator, owner, self, questions, stop: () => timers.forEach((cancel) => cancel()) };
}
