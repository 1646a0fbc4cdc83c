import type { Permit } from '@reveille/core';
import type { Action, Request, Task } from '@reveille/protocol';
import type { Process } from './process.ts';
import { is, type Durable } from './ledger.ts';
import type { World } from './world.ts';

/** A decision may be this long on its way to the disk, and rules change meanwhile. */
const ON_ITS_WAY_MS = 60_000;
const isYes = ({ answer }: Request): boolean => /^(?:approve|yes)/.test(answer?.text ?? '');

/** What agents may do, by whose leave, and how often. */
export class PermitAudit {
  readonly #world: World;
  /** Per run and action: how often an agent was let do what needed leave. */
  readonly #used = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  look({ deltas }: Durable): void {
    const world = this.#world;
    if (!world.has('permits')) return;
    const { ledger } = world.auditor;
    for (const delta of deltas) {
      if (is(delta, 'task') && !delta.before) {
        const [parent] = ledger.above(delta.after);
        const { id } = delta.after;
        world.check(
          !parent || world.rules.isWithin(delta.after, parent),
          'families',
          () => `${id} was made by ${parent?.id} and may do what that one may not`,
        );
      }
      if (is(delta, 'task') && delta.before && delta.before.agent !== delta.after.agent)
        for (const child of ledger.tasksOf(delta.after.session)) this.#swapped(child, delta.after);
      if (is(delta, 'request') && delta.after.action) this.#request(delta.before, delta.after);
    }
  }

  #swapped(child: Task, parent: Task): void {
    const world = this.#world;
    world.check(
      world.rules.isWithin(child, parent),
      'families',
      () => `${parent.id} has another agent now, and ${child.id} below it may do what that one may not`,
    );
  }

  /** Whoever would have to ask for it itself is not asked to allow it, and cannot. */
  #request(before: Request | undefined, after: Request): void {
    const { action, answer, with: holder, state } = after;
    if (!action) return;
    const moved = holder !== null && before?.with !== holder && state === 'open';
    if (moved) this.#checkMay(holder, action, `was asked to allow ${after.id}`);
    if (before?.state !== 'open' || state !== 'answered' || !isYes(after)) return;
    if (answer && answer.by !== 'person') this.#checkMay(answer.by, action, `allowed ${after.id}`);
  }

  #checkMay(session: string, action: Action, what: string): void {
    const { rules, timeline } = this.#world;
    this.#world.check(
      rules.mayAllow(session, action, timeline.now - ON_ITS_WAY_MS),
      'families',
      () => `${session} ${what} (${action.kind}) and would have to ask for it itself`,
    );
  }

  /** What an agent was told, at the moment it leaves the engine. */
  told(agent: Process, action: Action, since: number, permit: Permit): void {
    const world = this.#world;
    const { task, run } = agent.spec;
    const { rows } = world.auditor.ledger;
    if (!permit.allowed) {
      const there = permit.request === undefined || rows.request.has(permit.request);
      return world.check(there, 'durable', () => `${permit.request} was asked for, and is not on disk`);
    }
    const now = rows.task.get(task.id) ?? task;
    if (world.rules.mayBy(now, action, since) || world.rules.mayBy(task, action, since)) return;
    const key = `${run}/${action.digest}`;
    const used = (this.#used.get(key) ?? 0) + 1;
    this.#used.set(key, used);
    const given = [...rows.request.values()].filter(
      (request) => request.run === run && request.action?.digest === action.digest && isYes(request),
    ).length;
    world.check(
      used <= given,
      'permits',
      () => `${task.id} did ${action.digest} for the ${used}. time, and had leave ${given} times`,
    );
    world.auditor.sights.saw('leave used');
  }
}
