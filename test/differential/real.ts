import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isReveilleError, type Client, type PlanView, type TaskView } from '@reveille/protocol';
import { filesOf, shopIn, type Case } from './case.ts';
import type { Seen } from './agent.ts';

export interface SeenQuestion {
  readonly part: string;
  readonly text: string;
}

export interface Played {
  readonly view: PlanView;
  readonly questions: readonly SeenQuestion[];
  /** What resolvers there were, by what they were to resolve. */
  readonly resolvers: readonly string[];
  /** The code with which work on a dirty checkout was refused while nobody had said what to do; null: it was not refused. */
  readonly refusedAs: string | null;
}

const LONGEST_MS = 400_000;
const LOOK_MS = 150;
const OVER = ['completed', 'failed', 'cancelled'];

/** Plays a case through the daemon, and answers what the person is asked. */
export class RealCase {
  readonly #case: Case;
  readonly #folder: string;
  readonly #client: Client;
  readonly #questions: SeenQuestion[] = [];
  readonly #answered = new Set<string>();
  readonly #retried = new Set<string>();

  constructor(of: Case, folder: string, client: Client) {
    this.#case = of;
    this.#folder = folder;
    this.#client = client;
  }

  async play(): Promise<Played> {
    const { repository } = this.#case;
    const isDirty = repository.startsWith('dirty');
    const refusedAs = isDirty ? await this.#refusal() : null;
    const dirty = repository === 'dirty, from HEAD' ? 'head' : 'snapshot';
    const saved = await this.#client.savePlan(
      { ...this.#plan(), ...(isDirty ? { dirty } : {}) },
      { start: true },
    );
    const view = await this.#untilOver(saved);
    const tasks = await this.#client.listTasks({});
    const sessions = new Set<string>(view.tasks.map(({ task }) => task.session));
    const resolvers = tasks
      .filter(({ task }) => sessions.has(task.owner) && task.name.startsWith('resolve '))
      .map(({ task }) => task.name.slice('resolve '.length));
    return { view, questions: this.#questions, resolvers, refusedAs };
  }

  /** What an agent wrote down; null: it did not run. */
  seen(task: string, attempt: number): Seen | null {
    const file = `${filesOf(this.#folder).seen}/${task}-${attempt}.json`;
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Seen) : null;
  }

  #plan() {
    const { seed, tasks, verify } = this.#case;
    return {
      name: `s${seed}`,
      repository: shopIn(filesOf(this.#folder).real),
      ...(verify === null ? {} : { verify }),
      tasks: tasks.map(({ name, dependencies }) => ({
        id: name,
        prompt: 'work',
        dependencies: [...dependencies],
      })),
    };
  }

  async #refusal(): Promise<string | null> {
    try {
      await this.#client.savePlan(this.#plan(), { start: true });
      return null;
    } catch (error) {
      if (isReveilleError(error)) return error.code;
      throw error;
    }
  }

  async #untilOver({ plan }: PlanView): Promise<PlanView> {
    const deadline = performance.now() + LONGEST_MS;
    for (;;) {
      const view = await this.#client.getPlan(plan.id);
      const failed = view.tasks.filter(({ task }) => task.state === 'failed' && this.#isToRetry(task.name));
      for (const one of failed) await this.#retry(one);
      if (failed.length === 0 && OVER.includes(view.plan.state)) return view;
      if (view.tasks.some(({ task }) => task.waitingOn === 'answer')) await this.#answer(view);
      // A branch without all of the work is shown to the person, who knows that they left some out.
      for (const { task } of view.tasks)
        if (task.state === 'review') await this.#client.reviewTask({ task: task.id, verdict: 'approve' });
      if (performance.now() > deadline) throw new Error(`It was not over in time: ${statesOf(view)}`);
      await sleep(LOOK_MS);
    }
  }

  #isToRetry(name: string): boolean {
    return !this.#retried.has(name) && this.#case.tasks.some((task) => task.name === name && task.again);
  }

  async #retry({ task }: TaskView): Promise<void> {
    this.#retried.add(task.name);
    const kind = this.#case.tasks.find(({ name }) => name === task.name)?.again?.kind;
    if (kind === 'retry from last') {
      await this.#client.retryTask(task.id, { from: 'last' });
      return;
    }
    const snapshot = await this.#client.discardTask(task.id);
    await this.#client.retryTask(task.id, { from: kind === 'retry from a snapshot' ? snapshot.ref : 'last' });
  }

  async #answer({ tasks }: PlanView): Promise<void> {
    const ours = new Set<string>(tasks.map(({ task }) => task.id));
    for (const request of await this.#client.inbox()) {
      if (!ours.has(request.task) || this.#answered.has(request.id) || request.state !== 'open') continue;
      const [, part = ''] = /^"([^"]*)"/.exec(request.text) ?? [];
      const asked = this.#questions.filter((question) => question.part === part).length;
      const wanted = this.#case.answers[asked] ?? 'leave-out';
      const answer = request.options.find((option) => option.startsWith(`${wanted}:`));
      if (answer === undefined) throw new Error(`Nothing of ${request.options.join(', ')} is ${wanted}.`);
      this.#answered.add(request.id);
      this.#questions.push({ part, text: request.text });
      await this.#client.answer({ request: request.id, answer });
    }
  }
}

export const statesOf = (view: PlanView): string =>
  view.tasks
    .map(
      ({ task, end }) =>
        `${task.name} ${task.state} (${task.why}${end ? `; ${end.output} ${end.error?.message ?? ''}` : ''})`,
    )
    .join(', ');
