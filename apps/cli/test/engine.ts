import { DEFAULTS, Engine } from '@reveille/core';
import { scriptedExecutor, withScript, type WrittenScript } from '@reveille/executors';
import type { Client, Orchestrator, PlanInput, PlanView, ReveilleEvent } from '@reveille/protocol';
import { openMemory } from '@reveille/stores';
import { systemClock, systemRandom } from '@reveille/daemon/system';

/** A real engine on a store in memory, with agents that follow scripts. */
export class TestEngine implements AsyncDisposable {
  readonly engine: Engine;

  constructor() {
    const clock = systemClock();
    const { store, dispatch } = openMemory({ clock });
    const executor = scriptedExecutor({ clock, connect: (caller) => this.engine.as(caller), killAfterMs: 0 });
    this.engine = new Engine({
      store,
      dispatch,
      clock,
      random: systemRandom(),
      executors: {
        backends: () => ['scripted'],
        get: (name) => (name === 'scripted' ? executor : undefined),
      },
      agents: { names: () => ['agent', 'coder', 'tester'] },
      host: 'test',
      settings: DEFAULTS,
    });
  }

  /** As much of a client as a view needs: the same interface, in process. */
  get person(): Orchestrator & Pick<Client, 'getPlan'> {
    return this.engine.as({ kind: 'person', name: 'ann' });
  }

  /** Runs a plan until nothing of it can run any more, or until `enough` is true of it. */
  async run(plan: PlanInput, enough: (view: PlanView) => boolean = ended): Promise<PlanView> {
    const { plan: saved } = await this.person.savePlan(plan, { start: true });
    return this.until(saved.id, enough);
  }

  async until(id: PlanView['plan']['id'], enough: (view: PlanView) => boolean = ended): Promise<PlanView> {
    for (;;) {
      const view = await this.person.getPlan(id);
      if (enough(view)) return view;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  events(after = 0): Promise<readonly ReveilleEvent[]> {
    return this.person.events(after, 10_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.stop();
  }
}

const ended = ({ plan }: PlanView): boolean => ['completed', 'failed', 'cancelled'].includes(plan.state);

export async function testEngine(): Promise<TestEngine> {
  const made = new TestEngine();
  await made.engine.start();
  return made;
}

export const scripted = (
  id: string,
  script: WrittenScript,
  also: Partial<PlanInput['tasks'][number]> = {},
) => ({
  id,
  prompt: withScript('Do.', script),
  ...also,
});
