import type { Message, Run } from '@reveille/protocol';
import type { AgentLine } from './agent-line.ts';
import { mailText } from './briefing.ts';
import type { Context } from './context.ts';
import type { DecideHeld } from './holding.ts';
import { giveBackTaken } from './mailbox.ts';
import type { Seen } from './ports/executor.ts';
import { signOfLife, steerTurn } from './run-acts.ts';

interface Steering {
  readonly context: Context;
  readonly line: AgentLine;
  readonly decideHeld: DecideHeld;
  /** Whether somebody else will take the message. */
  readonly keep: (message: Message) => boolean;
}

/** Mail for a busy agent whose backend can take it: delivered in a commit, then offered; refused, it is queued again. */
export async function steer({ context, line, decideHeld, keep }: Steering): Promise<void> {
  await line.steer(async () => {
    const taken = await decideHeld(async (tx, run, task) => ({
      task,
      messages: await steerTurn(tx, run, keep),
    }));
    const { turn } = line;
    if (!taken || taken.messages.length === 0 || turn === null) return null;
    const { messages, task } = taken;
    const text = (await mailText(context, task, messages)).join('\n\n');
    return { input: { turn, given: messages.map(({ id }) => id), text }, messages };
  });
}

/** What the turn did not take is queued again. */
export async function takeBack(line: AgentLine, decideHeld: DecideHeld): Promise<void> {
  const refused = [...line.refused];
  await decideHeld(async (tx) => {
    for (const { message, seen } of refused) await giveBackTaken(tx, [message], seen);
  });
  line.refused = line.refused.slice(refused.length);
}

/** What the agent was given it has: it did something since. */
export async function recordProven(line: AgentLine, decideHeld: DecideHeld): Promise<void> {
  const proven = [...line.proven];
  // One whose hand-over was lost meanwhile is no longer proven.
  await decideHeld((tx, run) =>
    signOfLife(
      tx,
      run,
      proven.filter(([id, handOver]) => line.proven.get(id) === handOver).map(([id]) => id),
    ),
  );
  for (const [id, handOver] of proven) if (line.proven.get(id) === handOver) line.proven.delete(id);
}

/** What a resumed agent's own history holds of what it was given last. */
export async function askHistory(
  { store }: Context,
  line: AgentLine,
  run: Run,
): Promise<ReadonlyMap<string, Seen>> {
  const delivered = await store.find('message', { list: 'byState', equal: [run.session, 'delivered'] });
  return line.seen([run.id, ...delivered.map((row) => row.doc.id)]);
}
