import type { Caller, Message, SessionId } from '@reveille/protocol';
import { storedRows, type Records } from './authority.ts';
import { putBack } from './calls.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import { CallExchange, hadArrived } from './hand-overs.ts';
import { markReadTaken } from './mailbox.ts';
import type { Mailroom } from './mailroom.ts';
import { Scheduler } from './scheduler.ts';
import { WorkerRun } from './worker-run.ts';

/** What one host has in memory: who is at which mailbox, which runs it holds, and which of its callers live. */
export class Host {
  readonly context: Context;
  readonly mailroom: Mailroom;
  readonly scheduler: Scheduler;
  /** Rows and definitions, for authorising a call before it is served. */
  readonly records: Records;
  /** Calls of sessions without a run that were answered with mail which no later call has proven to have arrived. */
  readonly #inHands = new Map<SessionId, Set<CallExchange>>();

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

  begin(): CallExchange {
    return new CallExchange(this.context.moments);
  }

  /** A call is a sign of life: its session has whatever had arrived before the call began (MBX3, WAK9). */
  async alive(caller: Caller, { began }: CallExchange): Promise<void> {
    if (caller.kind === 'worker') return this.workerOf(caller)?.line.sign(began);
    if (caller.kind === 'person') return;
    const calls = [...(this.#inHands.get(caller.session) ?? [])].filter((call) => hadArrived(call, began));
    if (calls.length === 0) return;
    await decide(this.context, async (tx) => {
      for (const { carried } of calls) await markReadTaken(tx, carried);
    });
    // Not before it is on record: if the store fails, the next call proves it.
    this.#forget(caller.session, calls);
  }

  #forget(session: SessionId, calls: readonly CallExchange[]): void {
    const inHands = this.#inHands.get(session);
    for (const call of calls) inHands?.delete(call);
    if (inHands?.size === 0) this.#inHands.delete(session);
  }

  /** The answer of a call takes messages to whoever called. */
  handing(call: CallExchange) {
    return (caller: Caller, messages: readonly Message[]): void => {
      if (messages.length === 0) return;
      call.carried.push(...messages);
      if (caller.kind === 'worker') this.workerOf(caller)?.line.handedOver(messages, call);
      if (caller.kind === 'session')
        this.#inHands.set(caller.session, (this.#inHands.get(caller.session) ?? new Set()).add(call));
    };
  }

  /** The answer of a call did not get out: its mail is queued again, read or not, unless another has taken it since. */
  async lost(caller: Caller, call: CallExchange): Promise<void> {
    const messages = call.carried.splice(0);
    if (messages.length === 0) return;
    if (caller.kind === 'session') this.#forget(caller.session, [call]);
    this.workerOf(caller)?.line.lost(call);
    await putBack(this.context, messages, 'unknown');
  }

  /** The connection of a session broke: what it was answered with last may not have arrived. */
  async disconnected(session: SessionId): Promise<void> {
    const calls = [...(this.#inHands.get(session) ?? [])];
    this.#forget(session, calls);
    const messages = calls.flatMap(({ carried }) => carried);
    await putBack(this.context, messages, 'unknown');
  }
}
