import type { Run, Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import type { Vitals } from './health.ts';
import { askPerson, isAgents, recordHealth } from './recorded-health.ts';
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
    await decideHeld((tx, run, task) => unresponsive(tx, context, run, { task, vitals }));
    return;
  }
  vitals.restSince = context.awake.ms;
  await decideHeld(async (tx, run, task) => {
    if (run.turn || run.turns === 0 || (await waitReason(tx, task, run))) return;
    // With mail waiting it is not silent: its next turn is on its way.
    if (!wakes(await queuedMessages(tx, task.session))) await inquire(tx, context, task, run);
  });
}

async function unresponsive(tx: Tx, context: Context, run: Run, { task, vitals }: Silent): Promise<void> {
  if (!run.turn || !isAsked(run) || vitals.alive) return;
  if (await isAgents(tx, task)) {
    const message = 'asked why it was silent, it gave no sign of life';
    const error = { class: 'unresponsive', message } as const;
    await settle(tx, context, task, run, {
      status: 'failed',
      cause: 'unresponsive',
      output: run.lastWords,
      error,
    });
    return;
  }
  // Asked once: the person may also decide to wait.
  tx.put('run', { ...run, inquiry: null });
  // Safe although a decision may be made again: it says the same.
  vitals.asked();
  await recordHealth(tx, context, task, { run, vitals });
  const words = run.lastWords === '' ? '' : `; last words: ${run.lastWords.slice(-300)}`;
  const text = `asked why it was silent, it gave no sign of life${words}`;
  await askPerson(tx, context, task, { run, text });
}

interface Silent {
  readonly task: Task;
  readonly vitals: Vitals;
}
