import { type Run, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import type { Vitals } from './health.ts';
import { openRequest, openRequests } from './requests.ts';
import { inquire, isAsked } from './inquiry.ts';
import { queuedMessages } from './mailbox.ts';
import { waitReason } from './run-acts.ts';
import { settle } from './settle.ts';
import type { Tx } from './tx.ts';
import { wakes } from './wake-policy.ts';

type Act = (tx: Tx, run: Run, task: Task) => Promise<void>;

/** Whether it is time to look into a silence: cheap, for ten thousand workers at every tick. */
export function silenceDue(context: Context, vitals: Vitals): boolean {
  const { inactiveAfterMs, graceMs, inquiryTimeoutMs } = context.settings.health;
  const mono = context.awake.ms;
  if (vitals.turnSince === null) return mono - vitals.restSince >= inactiveAfterMs + graceMs;
  return !vitals.alive && mono - vitals.turnSince >= inquiryTimeoutMs;
}

/**
 * Idle is not done (HLT1). A worker that rests without reason is asked after a while why; one that was asked and
 * gives no sign at all is given up: an agent's child fails, so that its parent hears; a person's or a plan's task
 * stays, and goes to the inbox. All times are of being awake, so a clock that jumps or a laptop that sleeps makes nobody
 * unresponsive.
 */
export async function watchSilence(
  context: Context,
  vitals: Vitals,
  decideHeld: (act: Act) => Promise<void | null>,
): Promise<void> {
  if (!silenceDue(context, vitals)) return;
  if (vitals.turnSince !== null) {
    await decideHeld((tx, run, task) => unresponsive(tx, context, run, task));
    return;
  }
  vitals.restSince = context.awake.ms;
  await decideHeld(async (tx, run, task) => {
    if (run.turn || run.turns === 0 || (await waitReason(tx, task, run))) return;
    // With mail waiting it is not silent: its next turn is on its way.
    if (!wakes(await queuedMessages(tx, task.session))) await inquire(tx, context, task, run);
  });
}

async function unresponsive(tx: Tx, context: Context, run: Run, task: Task): Promise<void> {
  if (!run.turn || !isAsked(run)) return;
  const owner = await tx.need('session', task.owner);
  const ofAgent = task.plan === null && (owner.kind === 'worker' || owner.kind === 'orchestrator');
  const message = 'asked why it was silent, it gave no sign of life';
  if (ofAgent) {
    const error = { class: 'unresponsive', message } as const;
    await settle(tx, context, task, run, {
      status: 'failed',
      cause: 'unresponsive',
      output: run.lastWords,
      error,
    });
    return;
  }
  const open = await openRequests(tx, task);
  if (open.some((request) => request.kind === 'idle')) return;
  // Told once: whoever is to decide may also decide to wait.
  tx.put('run', { ...run, inquiry: null });
  const options = ['keep waiting', 'remind', 'mark complete', 'cancel'];
  await openRequest(tx, context, task, { kind: 'idle', run, text: message, options, toPerson: true });
}
