import type { Agent, Executor, StartSpec, TurnInput } from '@reveille/core';
import { until } from './house.ts';

/** An agent that does nothing by itself: the test calls in its name. */
export class Puppet implements Agent {
  readonly spec: StartSpec;
  readonly turns: TurnInput[] = [];
  stopped = false;

  constructor(spec: StartSpec) {
    this.spec = spec;
    spec.report({ type: 'started', identity: null, resume: null });
  }

  get caller() {
    const { run, session, epoch } = this.spec;
    return { kind: 'worker', run, session, epoch } as const;
  }

  turn(input: TurnInput): void {
    this.turns.push(input);
    this.spec.report({ type: 'output', text: 'I begin.' });
  }

  endTurn(lastWords: string): void {
    const turn = this.turns.at(-1)?.turn ?? 0;
    this.spec.report({ type: 'turn_ended', turn, lastWords });
  }

  async steer(): Promise<'refused'> {
    return 'refused';
  }

  interrupt(): void {
    this.endTurn('interrupted');
  }

  async seen(): Promise<ReadonlyMap<string, 'no'>> {
    return new Map();
  }

  async stop(reason: string): Promise<void> {
    if (this.stopped) return;
    this.stopped = true;
    this.spec.report({ type: 'exited', detail: reason });
  }
}

/** All agents of one engine. */
export class Stage implements Executor {
  readonly steers = false;
  readonly puppets: Puppet[] = [];

  start(spec: StartSpec): Puppet {
    const puppet = new Puppet(spec);
    this.puppets.push(puppet);
    return puppet;
  }

  async reap(): Promise<void> {}

  /** The newest agent at work on this task, once it has been handed it. */
  async at(task: string): Promise<Puppet> {
    const find = (): Puppet | undefined =>
      this.puppets.findLast(
        ({ spec, turns, stopped }) => spec.task.id === task && turns.length > 0 && !stopped,
      );
    await until(() => find() !== undefined);
    return find()!;
  }
}
