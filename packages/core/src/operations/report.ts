import {
  ReportInput,
  ReveilleError,
  checkJsonSchema,
  parseInput,
  type Caller,
  type Message,
  type Orchestrator,
  type ParsedReport,
  type Plan,
  type ReportResult,
  type Run,
  type Task,
} from '@reveille/protocol';
import { staleness } from '../authority.ts';
import { handOver, takenBy } from '../calls.ts';
import { decide, standingOf } from '../decide.ts';
import type { CallExchange } from '../hand-overs.ts';
import type { Host } from '../host.ts';
import type { Along } from '../mailroom.ts';
import { deliveredMessages, giveBack, queuedMessages, take } from '../mailbox.ts';
import { openPlans } from '../orchestrator-session.ts';
import { isUnderWay } from '../plan-approval.ts';
import { cancelPlan } from '../plans.ts';
import { cancelTree, settle } from '../settle.ts';
import type { Tx } from '../tx.ts';

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;
type Reported = { stale: string } | { result: ReportResult } | { unread: ReturnType<typeof take> };

export const REPORTING = ['reportCompletion'] as const;

/** SUB6: the report ends the run, unless children are open or their ends unread. A late one is refused and recorded. */
export function reporting(
  host: Host,
  caller: Caller,
  call: CallExchange,
): Pick<Orchestrator, (typeof REPORTING)[number]> {
  const { context } = host;
  return {
    async reportCompletion(input) {
      const report = parseInput(ReportInput, input);
      if (caller.kind !== 'worker') {
        throw new ReveilleError('not_allowed', 'Only a worker can report the completion of its task.');
      }
      // No sign of life is recorded apart: the change that settles the run reads what the worker was given.
      const judge = (late: readonly Message[]): Promise<Reported> =>
        handingOver(host, caller, (tx) => conclude(tx, host, caller, { report, late, began: call.began }));
      const outcome = await (host.workerOf(caller)?.line.judge(judge) ?? judge([]));
      if ('stale' in outcome) {
        throw new ReveilleError(
          'stale_caller',
          `Refused: ${outcome.stale}. Stop working; nothing you say counts any more.`,
        );
      }
      if ('result' in outcome) return outcome.result;
      const deliveries = await handOver({ context, handedOver: host.handing(call) }, caller, outcome.unread);
      return { accepted: false, code: 'unread_ends', deliveries };
    },
  };
}

interface Conclusion {
  readonly report: ParsedReport;
  /** Mail that reached the agent while it was waiting for the answer, and that it cannot have considered. */
  readonly late: readonly Message[];
  /** When the call with the report began. */
  readonly began: number;
}

const NOTHING: Along = { committed: () => undefined, lost: () => undefined };

/** A decision whose mail is taken along with it by whoever is free to take it. It may be made several times. */
async function handingOver<T>(
  host: Host,
  caller: WorkerCaller,
  decision: (tx: Tx) => Promise<T>,
): Promise<T> {
  let along = NOTHING;
  try {
    const handing = async (tx: Tx): Promise<T> => {
      along.lost();
      along = NOTHING;
      const decided = await decision(tx);
      along = await host.mailroom.takeAlong(tx);
      return decided;
    };
    const standing = standingOf(host.context, host.workerOf(caller)?.taskId, 'first');
    const value = await decide(host.context, handing, standing);
    along.committed();
    return value;
  } catch (error) {
    along.lost();
    throw error;
  }
}

async function conclude(
  tx: Tx,
  host: Host,
  caller: WorkerCaller,
  { report, late, began }: Conclusion,
): Promise<Reported> {
  const { context } = host;
  const { status, output, structured } = report;
  const stale = await staleness(tx, caller);
  if (stale) {
    tx.note({
      type: 'report.refused',
      run: caller.run,
      session: caller.session,
      data: { why: stale, status },
    });
    return { stale };
  }
  const run = tx.known('run', caller.run) ?? (await tx.need('run', caller.run));
  const task = tx.known('task', run.task) ?? (await tx.need('task', run.task));
  const problems =
    task.resultSchema && status === 'success' ? checkJsonSchema(task.resultSchema, structured) : [];
  if (problems.length > 0) return { result: { accepted: false, code: 'invalid_result', problems } };
  const session = tx.known('session', caller.session) ?? (await tx.need('session', caller.session));
  const plans = (await openPlans(tx, session)).filter(isUnderWay);
  const open =
    session.childrenOpen > 0 || plans.length > 0
      ? (await tx.list('task', { list: 'openByOwner', equal: [caller.session, 1] })).filter(isOwn)
      : [];
  if (open.length > 0 && !report.giveUpChildren) {
    return { result: { accepted: false, code: 'open_children', open: open.map((child) => child.id) } };
  }
  // What has not arrived, as far as anybody here knows, is given back; what arrived since it began to report is late too.
  const line = host.workerOf(caller)?.line;
  const unread = [...late];
  for (const message of await deliveredMessages(tx, caller.session)) {
    const refused = line?.refused.find((one) => one.message.id === message.id);
    if (!line?.holds(message.id)) giveBack(tx, [message], refused?.seen ?? 'unknown');
    else if (!line.holds(message.id, began)) unread.push(message);
  }
  const ends = (await queuedMessages(tx, caller.session)).filter(isEnd);
  if (ends.length > 0 || unread.some(isEnd)) return { unread: take(tx, ends, takenBy(context, caller)) };
  checkTaken(run, tx.leftBy(task, run.id));
  const wish = { by: caller.session, why: 'given up by its parent' };
  await giveUp(tx, context, { plans, open, wish });
  const error = status === 'failed' ? { class: 'unknown' as const, message: report.error ?? output } : null;
  const ending = {
    status,
    cause: 'report',
    output,
    error,
    ...(structured === undefined ? {} : { structured }),
  } as const;
  await settle(tx, context, task, run, ending);
  return { result: { accepted: true } };
}

/** A report takes the work as it lies in the worktree. The worker lives, and can report again. */
function checkTaken(run: Run, left: ReturnType<Tx['leftBy']>): void {
  if (run.takenOver)
    throw new ReveilleError(
      'wrong_state',
      'A person works in your worktree. Wait until you are told that you go on, look at what is there, and report then.',
    );
  const problem = left?.work?.problem;
  if (problem)
    throw new ReveilleError('workspace_failed', `Your work could not be taken: ${problem}. Report again.`, {
      data: { scarce: left.scarce === true },
    });
}

const isEnd = ({ kind }: Message): boolean => kind === 'end';

/** A reviewer of its earlier work that is being stopped is nobody it waits for. */
const isOwn = (child: Task): boolean => !child.reviews;

async function giveUp(
  tx: Tx,
  context: Host['context'],
  up: {
    readonly plans: readonly Plan[];
    readonly open: readonly Task[];
    readonly wish: { by: string; why: string };
  },
): Promise<void> {
  for (const plan of up.plans) await cancelPlan(tx, context, plan, up.wish);
  for (const child of up.open) if (child.plan === null) await cancelTree(tx, context, child, up.wish);
}
