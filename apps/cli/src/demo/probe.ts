import type { Change, Clock, Executor, Store } from '@reveille/core';
import type { Message, Run, Task, TaskId, TaskState } from '@reveille/protocol';

/** One session at work because of another: from the commit of what woke it to its handler being called. */
export interface WakeUp {
  readonly parent: string;
  readonly child: string;
  /** `success`, `failed` … for the end of a task; otherwise what kind of call it was. */
  readonly how: string;
  readonly ms: number;
}

/** Something worth a line, in the order in which it became true. */
export type Happening =
  | { readonly type: 'task'; readonly name: string; readonly state: TaskState; readonly why: string }
  | { readonly type: 'words'; readonly name: string; readonly text: string }
  | { readonly type: 'wake-up'; readonly wakeUp: WakeUp };

/** The only session of the demo that is no worker: whoever watches it owns the plan. */
const YOU = 'you';

/** Kinds that call somebody to work. The rest is information. */
const CALLS = new Set<Message['kind']>(['end', 'question', 'answer']);

/**
 * Measures from outside: it stands between the engine and its store, and between the engine and its agents, and
 * changes nothing on either side.
 */
export class Probe {
  readonly wakeUps: WakeUp[] = [];
  /** What each agent said last. */
  readonly words = new Map<TaskId, string>();
  readonly #clock: Clock;
  #began: number;
  readonly #states = new Map<TaskId, TaskState>();
  /** Names of tasks by id, and of their workers by session. */
  readonly #names = new Map<string, string>();
  readonly #committed = new Map<string, { message: Message; how: string; at: number }>();
  readonly #happened: (happening: Happening, at: number) => void;

  constructor(clock: Clock, happened: (happening: Happening, at: number) => void) {
    this.#clock = clock;
    this.#began = clock.mono();
    this.#happened = happened;
  }

  /** From now on time counts. */
  begin(): void {
    this.#began = this.#clock.mono();
  }

  /** Milliseconds since it began. */
  get elapsed(): number {
    return this.#clock.mono() - this.#began;
  }

  store(store: Store): Store {
    return {
      ...store,
      commit: async (change) => {
        const outcome = await store.commit(change);
        const at = this.#clock.mono();
        if (outcome.committed) this.#note(change, at);
        return outcome;
      },
    };
  }

  executor(executor: Executor): Executor {
    return {
      ...executor,
      start: (spec) => {
        const { report } = spec;
        const agent = executor.start({
          ...spec,
          report: (event) => {
            if (event.type === 'output') this.#said(spec.task.id, event.text);
            report(event);
          },
        });
        return {
          turn: (input) => {
            this.handled(input.given);
            agent.turn(input);
          },
          steer: async (input) => {
            const answer = await agent.steer(input);
            if (answer === 'taken') this.handled(input.given);
            return answer;
          },
          interrupt: () => agent.interrupt(),
          seen: (ids) => agent.seen(ids),
          stop: (reason) => agent.stop(reason),
        };
      },
    };
  }

  /** These messages are in the hands of whoever they were for. */
  handled(ids: readonly string[]): void {
    const now = this.#clock.mono();
    for (const id of ids) {
      const committed = this.#committed.get(id);
      if (!committed) continue;
      this.#committed.delete(id);
      const { message, how, at } = committed;
      const child = message.kind === 'answer' ? YOU : this.#name(message.task);
      const wakeUp = { parent: this.#name(message.to), child, how, ms: now - at };
      this.wakeUps.push(wakeUp);
      this.#happened({ type: 'wake-up', wakeUp }, this.elapsed);
    }
  }

  #name(id: string | null): string {
    return (id && this.#names.get(id)) ?? YOU;
  }

  #said(task: TaskId, text: string): void {
    this.words.set(task, text);
    this.#happened({ type: 'words', name: this.#name(task), text }, this.elapsed);
  }

  #note({ writes }: Change, at: number): void {
    for (const { table, doc, expect } of writes) {
      if (table === 'task') this.#noteTask(doc as Task, expect === 0);
      const message = doc as Message;
      // One that a call is answered with is in the caller's hands as soon as that is on disk.
      if (table === 'message' && message.state === 'delivered' && message.taken?.by === 'call')
        this.handled([message.id]);
      // A message that is queued again was written before; the time runs from the first.
      if (table !== 'message' || expect !== 0 || !CALLS.has(message.kind)) continue;
      // The run that ended is part of the same change.
      const run = writes.find((write) => write.id === message.run)?.doc as Run | undefined;
      this.#committed.set(message.id, { message, how: run?.end?.status ?? message.kind, at });
    }
  }

  #noteTask({ id, session, name, state, why }: Task, created: boolean): void {
    if (created) {
      this.#names.set(id, name);
      this.#names.set(session, name);
    }
    if (this.#states.get(id) === state) return;
    this.#states.set(id, state);
    this.#happened({ type: 'task', name, state, why }, this.elapsed);
  }
}
