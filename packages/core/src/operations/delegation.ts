import {
  AnswerInput,
  AwaitInput,
  NotifyInput,
  ReportInput,
  ReveilleError,
  SendInput,
  SpawnInput,
  checkJsonSchema,
  formatAgentType,
  isId,
  type AgentType,
  type Caller,
  type Orchestrator,
  type ReportResult,
  type SpawnResult,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { checkCaller, checkMayAct, checkMayMessage, nameOf, ownSession, staleness } from '../authority.ts';
import { deliveries } from '../briefing.ts';
import { reserve } from '../budget.ts';
import { awaitTasks, checkUpdates, takenBy, type Room } from '../calls.ts';
import { newId } from '../context.ts';
import { decide } from '../decide.ts';
import type { Engine } from '../engine.ts';
import { enqueue, queuedMessages, take } from '../mailbox.ts';
import { resolveAgent } from '../plan-rules.ts';
import { answerRequest, openRequest } from '../requests.ts';
import { cancelTree, settle } from '../settle.ts';
import { spawn, type ParsedSpawn, type Spawned } from '../subtasks.ts';
import { complete, cancel } from '../task-acts.ts';
import type { Tx } from '../tx.ts';
import { parse } from './parse.ts';

type Delegation = Pick<
  Orchestrator,
  | 'spawnSubtask'
  | 'spawnSubtasks'
  | 'awaitSubtasks'
  | 'checkUpdates'
  | 'reportCompletion'
  | 'notifyParent'
  | 'sendMessage'
  | 'answer'
  | 'reserve'
>;

export function delegation(engine: Engine, caller: Caller): Delegation {
  const { context } = engine;
  const room: Room = {
    context,
    mailroom: engine.mailroom,
    handedOver: (who, messages) => engine.handedOver(who, messages),
    blocked: (who) => engine.workerOf(who)?.blocked() ?? (() => undefined),
  };

  async function spawnAll(inputs: readonly SpawnInput[]): Promise<Spawned[]> {
    const parsed = inputs.map((input) => parse(SpawnInput, input));
    const agents = parsed.map((input) => knownAgent(engine, input));
    const session = ownSession(caller);
    await engine.alive(caller);
    return decide(context, async (tx) => {
      await checkCaller(tx, caller);
      const spawned: Spawned[] = [];
      for (const [i, input] of parsed.entries()) {
        const agent = agents[i];
        if (agent) spawned.push(await spawn(tx, context, session, input, agent));
      }
      return spawned;
    });
  }

  return {
    async spawnSubtask(input, options = {}) {
      const [spawned] = await spawnAll([input]);
      if (!spawned) throw new ReveilleError('internal', 'A spawn made nothing.');
      const { task, warning } = spawned;
      if (options.blocking === false)
        return warning ? { state: 'running', task, warning } : { state: 'running', task };
      const wanted = { session: ownSession(caller), tasks: new Set([task]), mode: 'all' } as const;
      const timeoutMs = options.patienceMs ?? context.settings.patienceMs;
      const result = await awaitTasks(room, caller, wanted, { timeoutMs, signal: options.signal });
      return spawnResult(task, result, warning);
    },
    async spawnSubtasks(inputs) {
      if (inputs.length === 0) throw new ReveilleError('invalid_input', 'Give at least one subtask.');
      return (await spawnAll(inputs)).map((spawned) => spawned.task);
    },
    async awaitSubtasks(input, options = {}) {
      const { taskIds, mode, timeoutMs } = parse(AwaitInput, input);
      const session = ownSession(caller);
      await engine.alive(caller);
      await decide(context, async (tx) => {
        await checkCaller(tx, caller);
        for (const id of taskIds) await checkOwnChild(tx, session, id);
      });
      return awaitTasks(
        room,
        caller,
        { session, tasks: new Set(taskIds), mode },
        { timeoutMs, signal: options.signal },
      );
    },
    async checkUpdates(filter = {}) {
      await engine.alive(caller);
      return checkUpdates(
        room,
        caller,
        ownSession(caller),
        filter.taskIds ? new Set(filter.taskIds) : undefined,
      );
    },
    async reportCompletion(input) {
      const parsed = parse(ReportInput, input);
      if (caller.kind !== 'worker')
        throw new ReveilleError('not_allowed', 'Only a worker can report the completion of its task.');
      // No sign of life is recorded apart: the change that settles the run reads what the worker was given.
      return report(engine, caller, parsed);
    },
    async notifyParent(input) {
      const parsed = parse(NotifyInput, input);
      if (caller.kind !== 'worker')
        throw new ReveilleError('not_allowed', 'Only a worker has a parent to notify.');
      await engine.alive(caller);
      return decide(context, (tx) => notify(tx, engine, caller, parsed));
    },
    async sendMessage(input) {
      const { to, message, key } = parse(SendInput, input);
      await engine.alive(caller);
      return decide(context, async (tx) => {
        const id = isId('task', to) ? (await tx.need('task', to)).session : to;
        const session = await tx.need('session', id);
        await checkMayMessage(tx, caller, session);
        if (session.state === 'ended')
          throw new ReveilleError('wrong_state', `${to} has ended and reads no messages.`);
        const from =
          caller.kind === 'person'
            ? ({ kind: 'person', name: caller.name } as const)
            : ({ kind: 'session', session: caller.session, name: nameOf(caller) } as const);
        return enqueue(tx, context, {
          to: id,
          key: key ? `said:${nameOf(caller)}:${key}` : `said:${newId(context, 'msg')}`,
          kind: 'words',
          from,
          task: session.task,
          text: message,
          fresh: key === undefined,
        });
      });
    },
    async answer(input) {
      const { request, answer } = parse(AnswerInput, input);
      await engine.alive(caller);
      return decide(context, (tx) => answerAs(tx, engine, caller, request, answer));
    },
    async reserve(id, amounts) {
      if (caller.kind !== 'worker')
        throw new ReveilleError('not_allowed', 'Only a worker has a budget to reserve from.');
      const why = await decide(context, async (tx) => {
        await checkCaller(tx, caller);
        const task = await tx.need('task', (await tx.need('run', caller.run)).task);
        return task.budget ? reserve(tx, task.budget, `${caller.run}/${id}`, amounts) : null;
      });
      return why ? { granted: false, why } : { granted: true };
    },
  };
}

function knownAgent(engine: Engine, input: ParsedSpawn): AgentType {
  const agent = resolveAgent(engine.context, input.agentType);
  if ('problem' in agent)
    throw new ReveilleError('unknown_agent', `Refused: ${agent.problem}.`, { data: { known: agent.known } });
  return agent;
}

function spawnResult(
  task: TaskId,
  result: Awaited<ReturnType<typeof awaitTasks>>,
  warning: string | undefined,
): SpawnResult {
  if (result.why === 'ended')
    return {
      state: 'ended',
      task,
      delivery: result.deliveries.find((delivery) => delivery.message.kind === 'end') ?? null,
    };
  if (result.why === 'needs_you') return { state: 'needs_you', task, deliveries: result.deliveries };
  return warning ? { state: 'running', task, warning } : { state: 'running', task };
}

async function checkOwnChild(tx: Tx, session: string, id: TaskId): Promise<void> {
  const task = await tx.need('task', id);
  if (task.owner !== session)
    throw new ReveilleError(
      'not_allowed',
      `Task ${id} is not a child of yours; only its owner is told how it ends.`,
    );
}

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;

/** SUB6: the report ends the run, unless children are open or their ends unread. A late one is refused and recorded. */
async function report(
  engine: Engine,
  caller: WorkerCaller,
  input: ReturnType<typeof parse<typeof ReportInput>>,
): Promise<ReportResult> {
  const { context } = engine;
  const work = await collect(engine, caller);
  const outcome = await decide(context, async (tx): Promise<Reported> => {
    const stale = await staleness(tx, caller);
    if (stale) {
      tx.note({
        type: 'report.refused',
        run: caller.run,
        session: caller.session,
        data: { why: stale, status: input.status },
      });
      return { stale };
    }
    const run = await tx.need('run', caller.run);
    const task = await tx.need('task', run.task);
    const problems =
      task.resultSchema && input.status === 'success'
        ? checkJsonSchema(task.resultSchema, input.structured)
        : [];
    if (problems.length > 0) return { result: { accepted: false, code: 'invalid_result', problems } };
    const { childrenOpen } = await tx.need('session', caller.session);
    const open =
      childrenOpen > 0 ? await tx.list('task', { list: 'openByOwner', equal: [caller.session, 1] }) : [];
    if (open.length > 0 && !input.giveUpChildren)
      return { result: { accepted: false, code: 'open_children', open: open.map((child) => child.id) } };
    const ends = (await queuedMessages(tx, caller.session)).filter((message) => message.kind === 'end');
    if (ends.length > 0) return { unread: take(tx, ends, takenBy(context, caller)) };
    for (const child of open)
      await cancelTree(tx, context, child, { by: caller.session, why: 'given up by its parent' });
    const error =
      input.status === 'failed' ? { class: 'unknown' as const, message: input.error ?? input.output } : null;
    const { status, output, structured } = input;
    await settle(tx, context, task, run, {
      status,
      cause: 'report',
      output,
      error,
      work,
      ...(structured === undefined ? {} : { structured }),
    });
    return { result: { accepted: true } };
  });
  if ('stale' in outcome)
    throw new ReveilleError(
      'stale_caller',
      `Refused: ${outcome.stale}. Stop working; nothing you say counts any more.`,
    );
  if ('result' in outcome) return outcome.result;
  engine.handedOver(caller, outcome.unread);
  return {
    accepted: false,
    code: 'unread_ends',
    deliveries: await deliveries(context.store, outcome.unread),
  };
}

type Reported = { stale: string } | { result: ReportResult } | { unread: ReturnType<typeof take> };

/** What the worker leaves is taken before the commit that ends it; taking it twice does no harm. */
async function collect(engine: Engine, caller: WorkerCaller) {
  const { workspaces, store } = engine.context;
  if (!workspaces) return null;
  const run = await store.get('run', caller.run);
  const task = run ? await store.get('task', run.doc.task) : undefined;
  if (!task || run?.doc.state !== 'open') return null;
  const work = await workspaces.collect(task.doc, caller.run);
  return work ? { ...work, files: work.files.map((file) => ({ ...file })) } : null;
}

async function notify(
  tx: Tx,
  engine: Engine,
  caller: WorkerCaller,
  input: ReturnType<typeof parse<typeof NotifyInput>>,
) {
  const { context } = engine;
  await checkCaller(tx, caller);
  const run = await tx.need('run', caller.run);
  const task = await tx.need('task', run.task);
  if (input.type === 'question' || input.type === 'approval_request') {
    const kind = input.type === 'question' ? 'question' : 'approval';
    const request = await openRequest(tx, context, task, {
      kind,
      run,
      text: input.message,
      options: input.options,
    });
    return { message: newId(context, 'msg'), request: request.id };
  }
  const message = await enqueue(tx, context, {
    to: task.owner,
    key: input.key ? `note:${run.id}:${input.key}` : `note:${newId(context, 'msg')}`,
    kind: input.type,
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    text: input.message,
    urgent: input.type === 'error',
    fresh: input.key === undefined,
  });
  return { message, request: null };
}

/** The choices of an idle item do what they say; any other answer goes to the asker. */
async function answerAs(
  tx: Tx,
  engine: Engine,
  caller: Caller,
  id: Parameters<typeof answerRequest>[2],
  text: string,
) {
  const { context } = engine;
  const request = await tx.need('request', id);
  const task: Task = await tx.need('task', request.task);
  const session = caller.kind === 'person' ? null : caller.session;
  if (session === null || session !== request.with) await checkMayAct(tx, caller, task);
  else await checkCaller(tx, caller);
  const answered = await answerRequest(tx, context, id, { text, by: nameOf(caller) });
  if (request.kind === 'idle' && text === 'mark complete')
    await complete(tx, context, await tx.need('task', task.id), '');
  if (request.kind === 'idle' && text === 'cancel')
    await cancel(tx, context, await tx.need('task', task.id), { by: nameOf(caller), why: 'it was silent' });
  return answered;
}
