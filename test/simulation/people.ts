import {
  isTerminal,
  type Orchestrator,
  type PlanId,
  type Request,
  type RequestId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { attempt } from './attempt.ts';
import type { Life } from './life.ts';
import type { Habit } from './options.ts';
import { makePlan } from './plans.ts';
import { Seats, asCaller } from './seats.ts';
import { COMMANDS } from './command.ts';
import { DOORS, lookInto } from './doors.ts';
import { GOALS } from './goals.ts';
import { MORE_DEEDS, answerByTwo } from './steering.ts';
import { wordsFor } from './wishes.ts';
import type { World } from './world.ts';

type Deed =
  | 'plan'
  | 'pausePlan'
  | 'resumePlan'
  | 'cancelPlan'
  | 'cancelTask'
  | 'pauseWorker'
  | 'resumeWorker'
  | 'interrupt'
  | 'retry'
  | 'message'
  | 'answer'
  | 'review'
  | 'complete'
  | 'openChat'
  | 'attach'
  | 'detach'
  | 'chatSpawn'
  | 'chatCalls'
  | 'endChat'
  | 'stopAll'
  | 'deploy'
  | 'addTask';

const DEEDS = { ...MORE_DEEDS, ...COMMANDS, ...GOALS, ...DOORS };
/** What people say where only a choice is an answer. */
const WORDS: Readonly<Record<string, string>> = {
  idle: 'mark complete',
  failure: 'cancel',
  escape: 'seen',
  budget: 'stop',
  plan: 'approve',
};

/** The people of a world: what they do to plans, workers and chats, at moments chance picks. */
export class People {
  readonly #world: World;
  readonly #seats: Seats;
  #plans = 0;

  constructor(world: World) {
    this.#world = world;
    this.#seats = new Seats(world);
  }

  /** One thing, by whoever; never throws. */
  async act(): Promise<void> {
    const deed = this.#choose();
    const life = this.#world.anyLife();
    if (!life) return;
    const more = DEEDS[deed];
    await this.#try(life, deed, (person) =>
      more ? more.act(this.#world, person, life) : this.#do(deed as Deed, life, person),
    );
  }

  async savePlan(): Promise<void> {
    const life = this.#world.anyLife();
    if (life) await this.#try(life, 'plan', (person) => this.#do('plan', life, person));
  }

  #choose(): string {
    const { chance } = this.#world;
    const on = (habit: Habit, weight: number): number => (this.#world.has(habit) ? weight : 0);
    return chance.weighted<string>({
      plan: this.#plans < this.#world.options.plans ? 6 : 0,
      addTask: 0.5,
      deploy: 0.3,
      pausePlan: on('pause', 1),
      resumePlan: on('pause', 2),
      pauseWorker: on('pause', 1.5),
      resumeWorker: on('pause', 2),
      cancelPlan: on('cancel_plan', 0.4),
      cancelTask: on('cancel', 2.5),
      interrupt: on('interrupt', 1.5),
      retry: on('retry', 2),
      message: on('messages', 1),
      answer: 3,
      review: 2,
      complete: on('complete_by_hand', 0.7),
      openChat: on('chat', 1),
      attach: on('chat', 2),
      detach: on('chat_leaves', 1),
      chatSpawn: on('chat', 3),
      chatCalls: this.#world.has('chat') ? on('chat_calls', 8) : 0,
      endChat: on('chat_leaves', 0.4),
      stopAll: on('emergency_stop', 0.15),
      ...Object.fromEntries(
        Object.entries(DEEDS).map(([name, { habit, weight }]) => [name, on(habit, weight)]),
      ),
    });
  }

  #try(life: Life, what: string, make: (person: Orchestrator) => Promise<unknown>): Promise<void> {
    return attempt(this.#world, life, what, () =>
      make(asCaller(this.#world, life, { kind: 'person', name: 'p' })),
    );
  }

  #anyTask(fits: (task: Task) => boolean): Task | undefined {
    return this.#world.chance.pick([...this.#world.auditor.ledger.rows.task.values()].filter(fits));
  }

  async #do(deed: Deed, life: Life, person: Orchestrator): Promise<void> {
    const { chance, auditor } = this.#world;
    const { rows } = auditor.ledger;
    const plan = chance.pick([...rows.plan.values()]);
    switch (deed) {
      case 'plan':
        return this.#savePlan(life, person);
      case 'pausePlan':
        return void (plan && (await person.pausePlan(plan.id)));
      case 'resumePlan':
        return void (plan && (await person.resumePlan(plan.id)));
      case 'cancelPlan':
        return plan && this.#cancelPlan(person, plan.id);
      case 'stopAll':
        return this.#stop(person);
      case 'addTask':
        if (plan && this.#world.mayGrow())
          await person.addPlanTask(plan.id, {
            id: `added${this.#world.nextPid()}`,
            prompt: 'one more',
            dependencies: auditor.ledger
              .tasksIn(plan.id)
              .slice(0, chance.int(0, 2))
              .flatMap((task) => task.key ?? []),
          });
        return;
      case 'answer':
        return this.#answerOne(person);
      case 'review':
        return this.#review(
          person,
          this.#anyTask((task) => task.state === 'review'),
        );
      case 'openChat':
        return this.#seats.openChat(life);
      case 'attach':
        return this.#seats.attach(life, this.#seats.any());
      case 'detach':
        return this.#seats.leave(this.#seats.any());
      case 'chatSpawn':
        return this.#seats.spawn(life);
      case 'chatCalls':
        return this.#seats.calls(life);
      case 'endChat':
        return this.#seats.end(person);
      default:
        return this.#doToTask(deed, person);
    }
  }

  async #doToTask(deed: Deed, person: Orchestrator): Promise<void> {
    const open = this.#anyTask((task) => !isTerminal(task.state));
    const ended = this.#anyTask((task) => task.state === 'failed' || task.state === 'cancelled');
    if (deed === 'retry') return void (ended && (await person.retryTask(ended.id)));
    if (!open) return;
    switch (deed) {
      case 'cancelTask':
        return this.#cancelTask(person, this.#anyTask((task) => this.#isParent(task)) ?? open);
      case 'pauseWorker':
        return void (await person.pauseWorker(open.id));
      case 'resumeWorker':
        return void (await person.resumeWorker(open.id));
      case 'interrupt':
        return void (await person.interruptWorker(open.id));
      case 'complete':
        return void (await person.completeTask(open.id, 'done by hand'));
      case 'deploy':
        return void (await person.deployTask(open.id));
      case 'message':
        return this.#say(person, open.id);
      default:
        return;
    }
  }

  /** With a key the same words may be sent twice, and arrive once. */
  async #say(person: Orchestrator, to: TaskId): Promise<void> {
    const world = this.#world;
    const key = world.has('same_key') ? { key: `once${world.chance.int(1, 3)}` } : {};
    const send = async (): Promise<string> => {
      const id = await person.sendMessage({ to, message: 'how is it going?', ...key });
      const there = world.auditor.ledger.rows.message.has(id);
      world.check(there, 'durable', () => `message ${id} was acknowledged and is not on disk`);
      return id;
    };
    const [first, second] = await Promise.all(world.has('same_key') ? [send(), send()] : [send()]);
    const same = second === undefined || first === second;
    world.check(same, 'calls', () => `the same words with the same key are ${first} and ${second}`);
  }

  /** What has just failed is tried again, perhaps while its agent is still being stopped. */
  async retrySoon(task: TaskId): Promise<void> {
    const life = this.#world.anyLife();
    if (life) await this.#try(life, 'retry', (person) => person.retryTask(task));
  }

  async #savePlan(life: Life, person: Orchestrator): Promise<void> {
    const { chance, auditor } = this.#world;
    this.#plans++;
    const input = makePlan(this.#world);
    const kind = chance.weighted({ person: 3, chat: this.#world.has('chat') ? 2 : 0, orchestrator: 1 });
    const seat = kind === 'person' ? null : await this.#seats.openSeat(life, kind);
    const caller = seat ? asCaller(this.#world, life, { kind: 'session', session: seat.session }) : person;
    try {
      const view = await caller.savePlan(input, { start: chance.hit(0.85) });
      const { rows } = auditor.ledger;
      const there = rows.plan.has(view.plan.id) && view.tasks.every(({ task }) => rows.task.has(task.id));
      this.#world.check(
        there && view.tasks.length >= input.tasks.length,
        'durable',
        () => `plan ${view.plan.id} was acknowledged and is not on disk`,
      );
    } catch (error) {
      // It may be there or not: whoever lost the connection looks, and saves it again if it is not.
      if ([...auditor.ledger.rows.plan.values()].every((plan) => plan.name !== input.name)) this.#plans--;
      throw error;
    }
  }

  async #cancelTask(person: Orchestrator, task: Task): Promise<void> {
    const { ledger } = this.#world.auditor;
    const since = ledger.facts.length;
    const covered = [...this.#below(task)];
    await person.cancelTask(task.id);
    this.#world.checkStopped([task], since);
    // While it is being stopped, all that was below it is too; when it has stopped, some may have been handed up.
    if (ledger.rows.task.get(task.id)?.cancelling) this.#world.checkStopped(covered, since);
  }

  #isParent(task: Task): boolean {
    if (isTerminal(task.state)) return false;
    return this.#world.auditor.ledger.tasksOf(task.session).some((child) => !isTerminal(child.state));
  }

  *#below(task: Task): Generator<Task> {
    for (const child of this.#world.auditor.ledger.tasksOf(task.session)) {
      yield child;
      yield* this.#below(child);
    }
  }

  async #cancelPlan(person: Orchestrator, plan: PlanId): Promise<void> {
    const { ledger } = this.#world.auditor;
    const since = ledger.facts.length;
    const covered = ledger.tasksIn(plan);
    await person.cancelPlan(plan);
    this.#world.checkStopped(covered, since);
  }

  async #stop(person: Orchestrator): Promise<void> {
    const { auditor } = this.#world;
    const since = auditor.ledger.facts.length;
    const open = [...auditor.ledger.rows.task.values()].filter(
      (task) =>
        !isTerminal(task.state) &&
        !['draft', 'failed'].includes(auditor.ledger.rows.plan.get(task.plan ?? '')?.state ?? ''),
    );
    await person.stop({ scope: 'all' }, 'stop everything');
    this.#world.checkStopped(open, since);
  }

  async #answerOne(person: Orchestrator): Promise<void> {
    const { chance } = this.#world;
    const request = chance.pick(await lookInto(this.#world, person));
    if (!request || request.kind === 'review') return;
    await this.#answer(person, request.id, wordsFor(this.#world, request, 'yes'));
  }

  async #answer(person: Orchestrator, request: RequestId, answer: string): Promise<void> {
    await person.answer({ request, answer });
    this.#world.acknowledged(request, answer);
  }

  async #review(person: Orchestrator, task: Task | undefined): Promise<void> {
    if (!task) return;
    const verdict = this.#world.quiet
      ? 'approve'
      : this.#world.chance.weighted({ approve: 3, changes: 2, reject: 1 });
    await person.reviewTask({ task: task.id, verdict, comment: 'seen' });
  }

  /** In the quiet phase people do what is left to them: take their mail, answer, approve, let everything go on. */
  async tidy(): Promise<void> {
    const world = this.#world;
    const life = world.anyLife();
    if (!life) return;
    const { rows } = world.auditor.ledger;
    const each = async <T>(
      items: Iterable<T>,
      what: string,
      make: (person: Orchestrator, item: T) => Promise<unknown>,
    ): Promise<void> => {
      for (const item of items) await this.#try(life, what, (person) => make(person, item));
    };
    const sessions = [...rows.session.values()].filter(
      (session) => session.task === null && session.state === 'open',
    );
    await each(sessions, 'attach', (_person, session) =>
      this.#seats.attach(life, this.#seats.seat(session.id)),
    );
    await this.#try(life, 'call again', () => this.#seats.callAgain());
    await this.#try(life, 'look', (person) => lookInto(world, person));
    const plans = [...rows.plan.values()];
    await each(
      plans.filter((plan) => plan.state === 'draft'),
      'start',
      (person, plan) => person.startPlan(plan.id),
    );
    await each(
      plans.filter((plan) => plan.state === 'paused'),
      'resume',
      (person, plan) => person.resumePlan(plan.id),
    );
    const paused = [...rows.run.values()].filter((run) => run.state === 'open' && run.paused);
    await each(paused, 'resume', (person, run) => person.resumeWorker(run.task));
    const tasks = [...rows.task.values()];
    await each(
      tasks.filter((task) => task.state === 'review'),
      'review',
      (person, task) => this.#review(person, task),
    );
    const open = [...rows.request.values()].filter(
      (request) => request.state === 'open' && request.kind !== 'review',
    );
    const mine = open.filter((request) => request.with === null || !rows.session.get(request.with)?.task);
    const twice = (request: Request): boolean =>
      world.has('answer_again') && ['question', 'approval'].includes(request.kind);
    await each(mine, 'answer', (person, request) =>
      twice(request)
        ? answerByTwo(world, person, request)
        : this.#answer(person, request.id, WORDS[request.kind] ?? wordsFor(world, request, 'yes')),
    );
  }
}
