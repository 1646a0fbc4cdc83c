import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { checkPlan, type Engine } from '@reveille/core';
import {
  RepositoryPath,
  ReveilleError,
  SessionKind,
  VIEWS,
  formatAgentType,
  isView,
  parseInput,
  type Board,
  type Caller,
  type HostView,
  type PlanProblem,
  type Run,
  type SessionRow,
  type TaskId,
  type TaskRow,
  type TaskView,
  type TaskRuns,
  type TranscriptPage,
  type ViewName,
} from '@reveille/protocol';
import type { z } from 'zod';
import { VERSION } from '../version.ts';
import type { Transcripts } from './transcripts.ts';

interface Options {
  readonly engine: Engine;
  readonly transcripts: Transcripts;
  readonly startedAt: number;
  /** The number of the last event that is on disk. */
  readonly lastEvent: () => Promise<number>;
}

type Serve = {
  readonly [V in ViewName]: (caller: Caller, input: z.output<(typeof VIEWS)[V]>) => Promise<unknown>;
};

/** What a person's page is shown. It reads and decides nothing. */
export function views(options: Options): (caller: Caller, name: string, input: unknown) => Promise<unknown> {
  const { engine, transcripts, startedAt } = options;
  const row = (view: TaskView): TaskRow => rowOf(view, transcripts);
  const taskOf = async (run: Run['id']): Promise<TaskId> => {
    const found = (await engine.context.store.get('run', run))?.doc;
    if (!found) throw new ReveilleError('not_found', `There is no run ${run}.`);
    return found.task;
  };
  const serve: Serve = {
    async board(caller): Promise<Board> {
      const orchestrator = engine.as(caller);
      // First the number, then the rows: what came in between is in both, and does no harm twice.
      const event = await options.lastEvent();
      const [plans, tasks, inbox] = await Promise.all([
        orchestrator.listPlans(),
        orchestrator.listTasks({}),
        orchestrator.inbox(),
      ]);
      return { event, plans, rows: tasks.map(row), sessions: await sessionRows(engine), inbox };
    },
    async rows(caller, { tasks }) {
      const orchestrator = engine.as(caller);
      const found = await Promise.all(tasks.map((id) => orchestrator.getTask(id).catch(() => null)));
      return found.flatMap((view) => (view ? [row(view)] : []));
    },
    async runs(caller, { task }): Promise<TaskRuns> {
      const { store } = engine.context;
      const view = await engine.as(caller).getTask(task);
      const { budget } = view.task;
      const found = await Promise.all((await transcripts.runsOf(task)).map((id) => store.get('run', id)));
      return {
        runs: found
          .flatMap((each) => (each?.doc.task === task ? [each.doc] : []))
          .sort((a, b) => a.attempt - b.attempt),
        budget: budget === null ? null : ((await store.get('budget', budget))?.doc ?? null),
        notes: notesOf(view),
      };
    },
    async transcript(_, { run, after, limit }): Promise<TranscriptPage> {
      return transcripts.read(await taskOf(run), run, { after, limit });
    },
    validatePlan: (_, { plan }) => problemsOf(engine, plan),
    async host(): Promise<HostView> {
      return {
        version: VERSION,
        startedAt,
        cpus: availableParallelism(),
        load: loadavg(),
        memory: { total: totalmem(), free: freemem() },
        resident: process.memoryUsage.rss(),
        agents: engine.context.governor?.totals() ?? null,
        disk: engine.context.machine?.gauge.free()?.diskBytes ?? null,
      };
    },
  };
  return async (caller, name, input) => {
    if (!isView(name)) throw new ReveilleError('not_found', 'There is no such view.');
    const view = serve[name] as (caller: Caller, input: unknown) => Promise<unknown>;
    return view(caller, parseInput(VIEWS[name], input));
  };
}

async function problemsOf({ context }: Engine, plan: unknown): Promise<readonly PlanProblem[]> {
  const named = typeof plan === 'object' && plan && 'repository' in plan ? plan.repository : null;
  const path = RepositoryPath.safeParse(named);
  if (path.success) await context.agents.know?.(path.data);
  const checked = checkPlan(context, plan, path.success ? path.data : null);
  return 'problems' in checked ? checked.problems : [];
}

const ROOTS = SessionKind.options.filter((kind) => kind !== 'worker');

/** Those that are no worker's: a worker's session is its task. */
async function sessionRows({ context: { store } }: Engine): Promise<SessionRow[]> {
  const found = await Promise.all(
    ROOTS.map((kind) => store.find('session', { list: 'byKind', equal: [kind] })),
  );
  return found
    .flat()
    .map(({ doc: { id, kind, name, state, parent } }) => ({ id, kind, name, state, parent }));
}

function rowOf({ task, run, health }: TaskView, transcripts: Transcripts): TaskRow {
  return {
    id: task.id,
    plan: task.plan,
    key: task.key,
    name: task.name,
    agent: formatAgentType(task.agent),
    model: task.model,
    owner: task.owner,
    session: task.session,
    depth: task.depth,
    dependencies: task.dependencies,
    priority: task.priority,
    review: task.review,
    state: task.state,
    why: task.why,
    since: task.since,
    waitingOn: task.waitingOn,
    cancelling: task.cancelling !== null,
    attempts: task.attempts,
    hasFiles: task.repository !== null,
    createdAt: task.createdAt,
    run: run && {
      id: run.id,
      state: run.state,
      paused: run.paused,
      takenBy: run.takenOver?.by ?? null,
      inTurn: run.turn !== null,
      turns: run.turns,
      ...(health ? { health } : {}),
      tokens: run.used.tokens,
      usd: run.used.usd,
      estimated: run.used.estimated !== undefined,
      ...(run.resources ? { resources: run.resources } : {}),
      startedAt: run.startedAt,
      status: run.end?.status ?? null,
      error: run.end?.error ? `${run.end.error.class}: ${run.end.error.message}`.slice(0, 500) : null,
      doing: run.state === 'open' ? transcripts.doing(run.id) : null,
    },
  };
}

/** Sentences that the page shows above the runs of a task. */
const notesOf = ({ warning, overrun }: TaskView): string[] => [
  ...(warning === undefined ? [] : [warning]),
  ...(overrun === undefined ? [] : [`Over budget: ${overrun}.`]),
];
