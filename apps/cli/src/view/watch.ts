import {
  isReveilleError,
  isTerminal,
  type Client,
  type MessageId,
  type Plan,
  type PlanId,
  type Request,
  type ReveilleEvent,
  type SessionId,
  type TaskId,
  type TaskView,
} from '@reveille/protocol';
import { isEnded } from './words.ts';

export type Target = { readonly plan: PlanId } | { readonly task: TaskId };

/** One worker at work because of another: from the commit of what woke it to its being handed over. */
export interface WakeUp {
  readonly parent: string;
  readonly child: string;
  /** `success`, `failed` … for an end; otherwise what kind of call it was. */
  readonly how: string;
  readonly ms: number;
  readonly at: number;
}

type Orchestrator = Pick<Client, 'getPlan' | 'getTask' | 'listTasks' | 'inbox' | 'getMessage'>;

/** Kinds that call somebody to work. The rest is information. */
const CALLS: ReadonlySet<unknown> = new Set(['end', 'question', 'answer', 'approval_request']);
const AT_ONCE = 8;
/** Plans with more tasks than this are asked for their open subtasks only: one call for each task would take long. */
const SMALL = 200;

/**
 * A plan, or a task, with everything below it, kept up to date by the events: an event says what has changed, and what
 * has changed is read again. Nothing is guessed, so what is shown is what is.
 */
export class Watch {
  plan: Plan | null = null;
  readonly tasks = new Map<TaskId, TaskView>();
  /** What waits for the person, of what is watched. */
  requests: readonly Request[] = [];
  readonly wakeUps: WakeUp[] = [];
  readonly #client: Orchestrator;
  readonly #target: Target;
  readonly #sessions = new Map<SessionId, TaskId>();
  readonly #names = new Map<string, string>();
  readonly #stale = new Set<TaskId>();
  readonly #queued = new Map<MessageId, number>();
  readonly #handed: { id: MessageId; to: SessionId; ms: number; at: number }[] = [];
  #askInbox = true;

  private constructor(client: Orchestrator, target: Target) {
    this.#client = client;
    this.#target = target;
  }

  static async open(client: Orchestrator, target: Target): Promise<Watch> {
    const watch = new Watch(client, target);
    await watch.reload();
    return watch;
  }

  /** Reads everything again. */
  async reload(): Promise<void> {
    const roots = await this.#roots();
    for (const view of roots) this.#keep(view);
    await this.#findChildren(roots);
    await this.#lookIntoInbox();
  }

  get ended(): boolean {
    if (this.plan) return isEnded(this.plan.state);
    const root = 'task' in this.#target ? this.tasks.get(this.#target.task) : undefined;
    return root !== undefined && isTerminal(root.task.state);
  }

  name(id: string | null | undefined): string {
    return (id && this.#names.get(id)) || (id ?? 'you');
  }

  /** By owner, in the order they were made; `null` has those that no other of them owns. */
  get byOwner(): ReadonlyMap<SessionId | null, readonly TaskView[]> {
    return Map.groupBy(this.tasks.values(), ({ task }) =>
      this.#sessions.has(task.owner) ? task.owner : null,
    );
  }

  /** Takes note of events; answers with those that are about what is watched. */
  apply(events: readonly ReveilleEvent[]): ReveilleEvent[] {
    // One by one: a subtask is known from the event that made it on.
    return events.flatMap((event) => (this.#isAbout(event) ? [this.#note(event)] : []));
  }

  /** Something has changed that was not read again yet. */
  get stale(): boolean {
    return this.#stale.size > 0 || this.#handed.length > 0 || this.#askInbox;
  }

  async refresh(): Promise<void> {
    const stale = [...this.#stale];
    this.#stale.clear();
    for (const some of slices(stale, AT_ONCE))
      for (const view of await Promise.all(some.map((id) => this.#client.getTask(id)))) this.#keep(view);
    if (this.#askInbox) await this.#lookIntoInbox();
    await this.#nameWakeUps();
  }

  async #roots(): Promise<readonly TaskView[]> {
    if ('task' in this.#target) return [await this.#client.getTask(this.#target.task)];
    const { plan, tasks } = await this.#client.getPlan(this.#target.plan);
    this.plan = plan;
    this.#names.set(plan.id, plan.name);
    return tasks;
  }

  async #findChildren(parents: readonly TaskView[]): Promise<void> {
    const begun = parents.filter(({ task }) => task.attempts > 0);
    if (begun.length > SMALL) return this.#findOpenChildren();
    for (const some of slices(begun, AT_ONCE)) {
      const found = await Promise.all(
        some.map(({ task }) => this.#client.listTasks({ owner: task.session })),
      );
      for (const view of found.flat()) this.#keep(view);
      await this.#findChildren(found.flat());
    }
  }

  async #findOpenChildren(): Promise<void> {
    const open = await this.#client.listTasks({ open: true });
    for (let found = true; found;) {
      const below = open.filter(({ task }) => !this.tasks.has(task.id) && this.#sessions.has(task.owner));
      for (const view of below) this.#keep(view);
      found = below.length > 0;
    }
  }

  #keep(view: TaskView): void {
    const { id, session, name } = view.task;
    this.tasks.set(id, view);
    this.#sessions.set(session, id);
    this.#names.set(id, name).set(session, name);
  }

  #isAbout({ plan, task, session, type, data }: ReveilleEvent): boolean {
    if (plan !== undefined && plan === this.plan?.id) return true;
    if (task !== undefined && this.#names.has(task)) return true;
    if (type === 'task.created') return this.#sessions.has(data?.['owner'] as SessionId);
    return session !== undefined && this.#sessions.has(session as SessionId);
  }

  #note(event: ReveilleEvent): ReveilleEvent {
    const { type, task, session, data, at } = event;
    if (type.startsWith('plan.') && this.plan) {
      const { state, why } = { ...this.plan, ...(data as Partial<Plan>) };
      this.plan = { ...this.plan, state, why, since: at };
      return event;
    }
    if (type === 'task.created' && task && session) {
      this.#names.set(task, String(data?.['name'])).set(session, String(data?.['name']));
      this.#sessions.set(session as SessionId, task as TaskId);
    }
    if (type.startsWith('request.')) this.#askInbox = true;
    if (type.startsWith('message.')) this.#noteMessages(event);
    if (task) this.#stale.add(task as TaskId);
    return event;
  }

  #noteMessages({ type, messages = [], session, data, at }: ReveilleEvent): void {
    for (const id of messages as MessageId[]) {
      if (type === 'message.queued' && CALLS.has(data?.['kind'])) this.#queued.set(id, at);
      const queued = this.#queued.get(id);
      if (type !== 'message.delivered' || queued === undefined) continue;
      this.#queued.delete(id);
      this.#handed.push({ id, to: session as SessionId, ms: at - queued, at });
    }
  }

  /** Who woke whom: the message knows. */
  async #nameWakeUps(): Promise<void> {
    for (const { id, to, ms, at } of this.#handed.splice(0)) {
      const message = await this.#client.getMessage(id).catch((error: unknown) => {
        if (isReveilleError(error, 'not_found')) return null;
        throw error;
      });
      if (!message) continue;
      const { kind, task, from } = message;
      const ended = kind === 'end' && task ? this.tasks.get(task)?.end?.status : undefined;
      const child = kind === 'answer' ? senderName(from, (session) => this.name(session)) : this.name(task);
      this.wakeUps.push({ parent: this.name(to), child, how: ended ?? kind, ms, at });
    }
  }

  async #lookIntoInbox(): Promise<void> {
    this.#askInbox = false;
    this.requests = (await this.#client.inbox()).filter(({ task }) => this.#names.has(task));
  }
}

type Sender = Awaited<ReturnType<Orchestrator['getMessage']>>['from'];

function senderName(from: Sender, nameOf: (id: string) => string): string {
  if (from.kind === 'session') return nameOf(from.session);
  return from.kind === 'person' ? 'you' : 'reveille';
}

function slices<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
