import type { Caller, Message, SessionId } from '@reveille/protocol';
import { storedRows, type Records } from './authority.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import { giveBack, giveBackTaken, markRead } from './mailbox.ts';
import type { Mailroom } from './mailroom.ts';
import { Scheduler } from './scheduler.ts';
import { WorkerRun } from './worker-run.ts';

/** Is told of the mail that a call is about to answer with. */
export type Given = (messages: readonly Message[]) => void;

/** What one host has in memory: who is at which mailbox, which runs it holds, and which of its callers live. */
export class Host {
  readonly context: Context;
  readonly mailroom: Mailroom;
  readonly scheduler: Scheduler;
  /** Rows and definitions, for authorising a call before it is served. */
  readonly records: Records;
  /** What calls of sessions without a run have been answered with and not yet shown to have arrived. */
  readonly #inHands = new Map<SessionId, Message[]>();

  constructor(context: Context, mailroom: Mailroom) {
    this.context = context;
    this.mailroom = mailroom;
    this.scheduler = new Scheduler(context, mailroom);
    this.records = { rows: storedRows(context.store), agents: context.agents };
  }

  workerOf(caller: Caller): WorkerRun | null {
    if (caller.kind !== 'worker') return null;
    const holder = this.mailroom.holder(caller.session);
    return holder instanceof WorkerRun && holder.run?.id === caller.run ? holder : null;
  }

  /** A call arrived: whatever its session was given before, it has (MBX3). */
  async alive(caller: Caller): Promise<void> {
    if (caller.kind === 'worker') return this.workerOf(caller)?.line.sign();
    if (caller.kind === 'person') return;
    const messages = this.#inHands.get(caller.session);
    if (!messages) return;
    this.#inHands.delete(caller.session);
    await decide(this.context, async (tx) => {
      for (const { id } of messages) markRead(tx, [await tx.need('message', id)]);
    });
  }

  /** A call is about to answer with messages: `given` is told too. */
  handing(given: Given) {
    return (caller: Caller, messages: readonly Message[]): void => {
      if (messages.length === 0) return;
      this.#handedOver(caller, messages);
      given(messages);
    };
  }

  #handedOver(caller: Caller, messages: readonly Message[]): void {
    if (caller.kind === 'worker') this.workerOf(caller)?.line.handedOver(messages, 'call');
    if (caller.kind === 'session')
      this.#inHands.set(caller.session, [...(this.#inHands.get(caller.session) ?? []), ...messages]);
  }

  /** The answer of a call did not get out: what was in it is queued again, unless another has taken it since. */
  async lost(caller: Caller, messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const gone = new Set(messages.map(({ id }) => id));
    if (caller.kind === 'session') {
      const held = this.#inHands.get(caller.session)?.filter(({ id }) => !gone.has(id)) ?? [];
      if (held.length > 0) this.#inHands.set(caller.session, held);
      else this.#inHands.delete(caller.session);
    }
    this.workerOf(caller)?.line.lost(gone);
    await decide(this.context, (tx) => giveBackTaken(tx, messages, 'unknown'));
  }

  /** The connection of a session broke: what it was answered with last may not have arrived. */
  async disconnected(session: SessionId): Promise<void> {
    const messages = this.#inHands.get(session) ?? [];
    this.#inHands.delete(session);
    await decide(this.context, async (tx) => {
      for (const { id } of messages) giveBack(tx, [await tx.need('message', id)], 'unknown');
    });
  }
}
