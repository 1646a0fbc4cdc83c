import type { TurnInput } from '@reveille/core';
import type { Message, Plan, Run, Session, Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';
import type { Process } from './process.ts';

/** ORC1, written down a second time. */
const STATUS: readonly Message['kind'][] = ['progress', 'info', 'warning', 'forecast'];
const SOMETIMES: readonly Message['kind'][] = ['end', 'error'];
const OVER: readonly Plan['state'][] = ['completed', 'failed', 'cancelled'];

/** What is between a goal and the workers: who is woken for what, what needs the person's word, and how deep it goes. */
export class OrchestratorAudit {
  readonly #auditor: Auditor;
  readonly #startedByPerson: ReadonlySet<string>;
  readonly #approved = new Set<string>();
  /** Per turn of an orchestrator: what waited for its decision as it opened. */
  readonly #asked = new Map<string, readonly string[]>();

  constructor(auditor: Auditor, startedByPerson: ReadonlySet<string>) {
    this.#auditor = auditor;
    this.#startedByPerson = startedByPerson;
  }

  look(change: Durable): void {
    for (const delta of change.deltas) {
      if (is(delta, 'task') && !delta.before) this.#ancestry(delta.after);
      if (is(delta, 'message') && !delta.before) this.#letter(delta.after);
      if (is(delta, 'run')) this.#turn(change, delta);
      if (is(delta, 'plan') && !OVER.includes(delta.before?.state ?? 'failed'))
        this.#over(change, delta.after);
      if (is(delta, 'plan') && delta.before?.state !== delta.after.state) this.#started(change, delta.after);
    }
  }

  #session(id: string): Session | undefined {
    return this.#auditor.ledger.rows.session.get(id);
  }

  /** The session, if a model decides there. */
  #orchestrator(id: string): Session | undefined {
    const session = this.#session(id);
    return session?.kind === 'orchestrator' && session.task !== null ? session : undefined;
  }

  /** SUB7, by what is stored: a child is one below whoever made it, and in the same chain. */
  #ancestry(task: Task): void {
    const own = this.#session(task.session);
    const owner = this.#session(task.owner);
    if (!own || !owner) return;
    const atTop = task.plan !== null && (owner.task === null || owner.kind === 'orchestrator');
    const below = atTop ? 1 : owner.depth + 1;
    const depth = own.kind === 'orchestrator' ? 0 : below;
    const root = atTop || own.kind === 'orchestrator' ? 'orchestrator' : owner.rootKind;
    this.#auditor.check(
      task.depth === depth && own.depth === depth && own.rootKind === root,
      'families',
      `${task.id} counts as ${own.depth} deep under ${own.rootKind}; by its ancestry it is ${depth} under ${root}`,
    );
  }

  #letter(message: Message): void {
    if (!this.#orchestrator(message.to) || message.state === 'dead') return;
    const quiet = message.quiet === true;
    const task = this.#auditor.ledger.rows.task.get(message.task ?? '');
    const own = message.kind === 'end' && task?.plan === null;
    const must = !SOMETIMES.includes(message.kind) || message.urgent || own;
    const status = STATUS.includes(message.kind);
    this.#auditor.check(
      status ? quiet : !quiet || !must,
      'wakes',
      `${message.id} (${message.kind}) ${quiet ? 'does not wake' : 'wakes'} the orchestrator ${message.to}`,
    );
  }

  /** It waits for its plan, and is woken when that is over. */
  #over({ deltas }: Durable, plan: Plan): void {
    if (!OVER.includes(plan.state) || this.#orchestrator(plan.owner)?.state !== 'open') return;
    const ends = deltas.flatMap((delta) =>
      is(delta, 'message') && !delta.before && delta.after.kind === 'end' && delta.after.to === plan.owner
        ? [delta.after]
        : [],
    );
    this.#auditor.check(
      ends.length === 0 || ends.some(({ quiet }) => !quiet),
      'wakes',
      `${plan.id} is ${plan.state}, and nothing wakes ${plan.owner}`,
    );
  }

  /** A turn costs money: not for status alone. */
  #turn({ deltas }: Durable, { before, after }: Delta<'run'>): void {
    const { turn } = after;
    if (!turn || turn.number === before?.turn?.number || !this.#orchestrator(after.session)) return;
    const id = `${after.id}/${turn.number}`;
    this.#asked.set(
      id,
      this.#auditor.ledger.heldBy(after.session).map((request) => request.id),
    );
    const died = !before || before.turn !== null || !before.assigned;
    const given = deltas.flatMap((delta) =>
      is(delta, 'message') && delta.after.taken?.id === id ? [delta.after] : [],
    );
    const idle = given.length > 0 && given.every(({ kind }) => STATUS.includes(kind));
    this.#auditor.check(died || !idle, 'wakes', `turn ${id} opened for nothing but status`);
  }

  /** A plan that an orchestrator made of a goal starts when a person, or whoever gave the goal, has approved it. */
  #started({ deltas }: Durable, plan: Plan): void {
    const owner = this.#orchestrator(plan.owner);
    const task = this.#auditor.ledger.rows.task.get(owner?.task ?? '');
    if (!task || task.plans === 'start') return;
    const approved = deltas.some(
      (delta) =>
        is(delta, 'request') &&
        delta.after.plan === plan.id &&
        delta.after.answer?.text.startsWith('Approved') === true &&
        delta.after.answer.by !== plan.owner,
    );
    // One whose tasks have all ended by then is over as it starts; what is added to it later needs no more leave.
    if (approved) this.#approved.add(plan.id);
    if (!['active', 'paused'].includes(plan.state) || plan.cancelling !== null) return;
    this.#auditor.check(
      this.#approved.has(plan.id) || this.#startedByPerson.has(plan.id),
      'permits',
      `${plan.id} of ${plan.owner} was started, and nobody approved it`,
    );
  }

  /** What waited for its decision when its turn opened, and still does, is what it is shown. */
  missing(run: Run['id'], turn: number, text: string): readonly string[] {
    const { rows } = this.#auditor.ledger;
    return (this.#asked.get(`${run}/${turn}`) ?? []).filter((id) => {
      const request = rows.request.get(id);
      const session = rows.run.get(run)?.session;
      return request?.state === 'open' && request.with === session && !text.includes(id);
    });
  }
}

/** ORC1: with every event that wakes it, it is shown its plans and what it may decide. */
export function checkSituation({ world, spec, identity }: Process, input: TurnInput): void {
  const plans = world.auditor.ledger.rows.session.get(spec.session)?.plans ?? [];
  if (plans.length === 0) return;
  const missing = world.orchestrators.missing(spec.run, input.turn, input.text);
  world.check(
    missing.length === 0,
    'wakes',
    () => `${identity} was woken and not shown ${missing.join(', ')}, which waits for its decision`,
  );
}
