import type { TurnInput } from '@reveille/core';
import {
  LENGTHS,
  ReveilleError,
  isStoreError,
  type AwaitInput,
  type AwaitResult,
  type Delivery,
  type ErrorClass,
  type NotifyInput,
  type Orchestrator,
  type ReportInput,
  type ReportResult,
  type SpawnInput,
  type SpawnResult,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { GONE, type Body, type Memory } from './body.ts';
import type { Letter } from './letters.ts';

const LATER_MS = 1_000;

/**
 * What a script holds: the agent it plays. Each method is one thing an agent can do. When the function returns, the
 * turn ends, and it is called again for the next one; `rest` and `ask` keep its place instead.
 */
export class ScriptedAgent {
  readonly #body: Body;
  readonly #waits = new Set<(reason: unknown) => void>();
  #abort: AbortController | null = null;
  #over = false;

  constructor(body: Body) {
    this.#body = body;
  }

  get task(): Task {
    return this.#body.spec.task;
  }

  /** 1 for the first run of the task. */
  get attempt(): number {
    return this.#body.spec.task.attempts;
  }

  /** It goes on with a run that an earlier life began. */
  get resumed(): boolean {
    return this.#body.spec.epoch > 1;
  }

  get turn(): TurnInput {
    return this.#body.input;
  }

  get letters(): readonly Letter[] {
    return this.#body.letters();
  }

  get memory(): Memory {
    return this.#body.memory;
  }

  /** The bare operations: no tool call is shown, nothing is tried again. */
  get orchestrator(): Orchestrator {
    return this.#body.orchestrator;
  }

  say(text: string): void {
    this.#check();
    this.#body.say(text);
  }

  /** Touches a file; with content, it is written into its checkout. */
  async edit(path: string, content?: string): Promise<void> {
    this.#check();
    if (content !== undefined) await this.#body.write(path, content);
    this.#check();
    this.#body.tell({ type: 'file_touched', path });
  }

  /** Takes over what its children made that have completed; taking it twice changes nothing. */
  async pull(): Promise<void> {
    const children = await this.call('listTasks', { owner: this.#body.spec.session });
    for (const { task } of children) {
      if (task.state !== 'completed') continue;
      const pulled = await this.call('pullSubtask', task.id);
      if (pulled.merged) continue;
      const files = pulled.conflicts.map(({ path }) => path).join(', ');
      throw new ReveilleError('merge_conflict', `What "${task.name}" made conflicts with mine in ${files}.`);
    }
  }

  use(used: { tokens?: number; usd?: number }): void {
    this.#check();
    const { tokens = 0, usd = 0 } = used;
    this.#body.tell({ type: 'usage', id: this.#body.next(), tokens, usd });
  }

  async work(ms: number): Promise<void> {
    this.#check();
    if (ms <= 0) return;
    await this.#until((resolve) => this.#body.clock.after(ms, resolve));
  }

  /** Any operation, shown as a tool call. One that the store could not take now is made again, as a model would. */
  async call<K extends keyof Orchestrator>(
    operation: K,
    ...args: Parameters<Orchestrator[K]>
  ): Promise<Awaited<ReturnType<Orchestrator[K]>>> {
    const result = await this.#call(operation, args);
    this.#check();
    return result;
  }

  async #call<K extends keyof Orchestrator>(
    operation: K,
    args: Parameters<Orchestrator[K]>,
  ): Promise<Awaited<ReturnType<Orchestrator[K]>>> {
    this.#check();
    const body = this.#body;
    const id = body.next();
    body.tell({
      type: 'tool_call',
      id,
      name: operation,
      digest: [operation, JSON.stringify(args[0])].join(' ').trim(),
    });
    const { orchestrator } = body;
    // The parameters are those of this very operation; TypeScript cannot follow a generic key that far.
    type Operation = (...of: Parameters<Orchestrator[K]>) => ReturnType<Orchestrator[K]>;
    const run = orchestrator[operation] as unknown as Operation;
    for (;;) {
      try {
        const result = await run.apply(orchestrator, args);
        const news = !(Array.isArray(result) && result.length === 0);
        body.tell({ type: 'tool_end', id, failed: false, news });
        return result;
      } catch (error) {
        if (!isStoreError(error) || this.#over) {
          body.tell({ type: 'tool_end', id, failed: true, news: true });
          throw error;
        }
        await this.work(LATER_MS);
      }
    }
  }

  async spawn(input: SpawnInput): Promise<TaskId> {
    return this.#own((await this.call('spawnSubtask', input, { blocking: false })).task);
  }

  async spawnMany(inputs: readonly SpawnInput[]): Promise<readonly TaskId[]> {
    const spawned = await this.call('spawnSubtasks', inputs);
    return spawned.map(({ task }) => this.#own(task));
  }

  /** A single spawn that waits for its result. */
  async delegate(input: SpawnInput, options: { patienceMs?: number } = {}): Promise<SpawnResult> {
    const result = await this.call('spawnSubtask', input, {
      ...options,
      blocking: true,
      signal: this.#signal(),
    });
    this.#own(result.task);
    return result;
  }

  /** Waits in a call for these children; without ids, for all it spawned. */
  async wait(input: Partial<AwaitInput> = {}): Promise<AwaitResult> {
    const taskIds = input.taskIds ?? [...this.memory.children];
    if (taskIds.length === 0) return { done: true, deliveries: [], open: [], why: 'ended' };
    return this.call('awaitSubtasks', { ...input, taskIds }, { signal: this.#signal() });
  }

  checkUpdates(taskIds?: readonly TaskId[]): Promise<readonly Delivery[]> {
    return this.call('checkUpdates', taskIds ? { taskIds } : {});
  }

  notify(type: NotifyInput['type'], message: string): Promise<unknown> {
    return this.call('notifyParent', { type, message });
  }

  progress(message: string): Promise<unknown> {
    return this.notify('progress', message);
  }

  /** Asks its parent, ends its turn, and goes on with the answer. Other mail meanwhile is left for `letters`. */
  async ask(message: string, options: readonly string[] = []): Promise<string> {
    const { memory } = this;
    const early = this.#answerOfEarlierLife();
    if (early) return early.body;
    // While the question is open, one that lost its memory asks no second one.
    const key = `ask:${message}`.slice(0, LENGTHS.name);
    memory.asked ??= (
      await this.call('notifyParent', { type: 'question', message, options: [...options], key })
    ).request;
    for (;;) {
      const answer = this.letters.find(
        (letter) => letter.kind === 'answer' && letter.request === memory.asked,
      );
      if (answer) {
        memory.asked = null;
        this.#note(answer);
        return answer.body;
      }
      await this.rest();
    }
  }

  /** One that begins anew with an answer in its hands has asked before, and its memory died with its process. */
  #answerOfEarlierLife(): Letter | undefined {
    if (!this.resumed || this.memory.asked !== null) return undefined;
    const answer = this.letters.find(
      ({ kind, request }) => kind === 'answer' && !this.#noted.includes(request),
    );
    if (answer) this.#note(answer);
    return answer;
  }

  get #noted(): readonly unknown[] {
    return (this.memory.notes['answers'] as readonly unknown[] | undefined) ?? [];
  }

  #note({ request }: Letter): void {
    this.memory.notes['answers'] = [...this.#noted, request];
  }

  /** Ends its turn without a report; goes on when it is woken. */
  async rest(): Promise<void> {
    this.#check();
    await this.#body.rest(this.#waits);
  }

  /** Its last word: if it is accepted, the run is over. */
  async report(
    status: ReportInput['status'],
    output: string,
    also: Partial<ReportInput> = {},
  ): Promise<ReportResult> {
    const result = await this.#call('reportCompletion', [{ ...also, status, output }]);
    if (result.accepted) this.#body.reported();
    return result;
  }

  /** Two reports at once, as a client does that tries again too early. */
  reportTwice(status: ReportInput['status'], output: string): Promise<PromiseSettledResult<ReportResult>[]> {
    this.#check();
    const input = { status, output };
    const { orchestrator } = this.#body;
    return Promise.allSettled([orchestrator.reportCompletion(input), orchestrator.reportCompletion(input)]);
  }

  /** Once it has been stopped, `afterMs` later, it reports all the same, with its old credential. */
  reportLate(status: ReportInput['status'], output: string, afterMs = 0): void {
    this.#check();
    this.#body.reportLate({ status, output }, afterMs);
  }

  /** Fails as a backend does: with an error of this class, and is gone. */
  fail(errorClass: ErrorClass, message: string): never {
    this.#check();
    this.#body.exit(message, { class: errorClass, message });
    throw GONE;
  }

  /** Gone without a word, like a process that was killed. */
  crash(detail = 'killed'): never {
    this.#check();
    this.#body.exit(detail);
    throw GONE;
  }

  /** Keeps its turn open and says nothing more. */
  async silent(): Promise<never> {
    this.#check();
    await this.#until(() => () => undefined);
    throw GONE;
  }

  /** From now on a stop takes until the kill deadline, and the script goes on until then. */
  ignoreAbort(): void {
    this.#check();
    this.#body.ignoreAbort();
  }

  /** Called by its life: the script may not go on. */
  end(): void {
    this.#over = true;
    this.#abort?.abort();
    for (const reject of this.#waits) reject(GONE);
    this.#waits.clear();
  }

  #check(): void {
    if (this.#over) throw GONE;
  }

  #own(task: TaskId): TaskId {
    this.memory.children.add(task);
    return task;
  }

  #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  /** A wait that the end of the agent ends. `begin` returns what takes it back. */
  #until(begin: (resolve: () => void) => () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.#waits.delete(give);
        resolve();
      };
      const cancel = begin(done);
      const give = (reason: unknown): void => {
        cancel();
        reject(reason as Error);
      };
      this.#waits.add(give);
    });
  }
}
