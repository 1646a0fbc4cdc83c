import type { Boundary } from '@reveille/worktrees';
import type { World } from './parts.ts';

const DAY_MS = 86_400_000;

/** What is done at the start and then once a day, behind everything else: old snapshots are dropped. */
export class Upkeep {
  #timer: NodeJS.Timeout | null = null;
  #ended = false;
  #working: Promise<void> = Promise.resolve();

  async begin(world: World, boundary: Boundary): Promise<void> {
    // It is called when the rest has started, which may take longer than until the end.
    if (this.#ended) return;
    const work = (): Promise<void> => (this.#working = keepUp(world, boundary));
    this.#timer = setInterval(() => void work(), DAY_MS).unref();
    await work();
  }

  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#working;
  }
}

/** Never fails: it is tried again the next day. */
async function keepUp({ connect, clock, log }: World, { worktrees }: Boundary): Promise<void> {
  try {
    const tasks = await connect({ kind: 'person', name: 'reveille' }).listTasks({});
    await worktrees.retain(
      tasks.map(({ task }) => task),
      clock.now(),
    );
  } catch (error) {
    log.warn('old snapshots could not be looked for', { error: String(error) });
  }
}
