import { Life } from './life.ts';
import { Machine } from './machine.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** A machine: it outlives its engine, and so may the agents on it. */
export class Host {
  readonly name: string;
  readonly processes = new Map<string, Process>();
  life: Life | null = null;
  store: 'up' | 'gone' | 'hangs' = 'up';
  wallOffset = 0;
  stalledAt = -Infinity;
  hanging: (() => void)[] = [];
  lives = 0;
  readonly machine: Machine | null;
  readonly #world: World;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    const { machine } = world.options;
    this.machine = machine && new Machine(world, this, machine);
  }

  boot(): void {
    this.#world.auditor.lives++;
    const life = new Life(this.#world, this, ++this.lives);
    this.#world.say(life, `begins life ${life.number}`);
    this.life = life;
    life.start();
  }

  started(life: Life): void {
    this.#world.say(life, 'is up');
    this.#world.auditor.lives++;
    life.after(this.#world.chance.int(0, 3_000), () => this.#lookForOrphans(life));
    this.#world.onUp(life);
  }

  /** LIM2: what an earlier life left is gone or, where the host keeps no record of its own, on record in the rows. */
  #lookForOrphans(life: Life): void {
    if (this.life !== life || life.dead) return;
    const { options, auditor } = this.#world;
    for (const { born, identity } of this.processes.values()) {
      if (born === life) continue;
      const known =
        !options.reaps && [...auditor.ledger.rows.run.values()].some((run) => run.identity === identity);
      this.#world.check(known, 'processes', () => `${identity} of an earlier life is left on ${this.name}`);
    }
    if (this.processes.size > 0) life.after(3_000, () => this.#lookForOrphans(life));
  }

  /** The life that takes calls, if there is one. */
  get up(): Life | null {
    return this.life && !this.life.dead && !this.life.starting ? this.life : null;
  }

  stall(ms: number): void {
    this.stalledAt = this.#world.timeline.now + ms;
    this.#world.say(this.life, `stalls for ${ms} ms`);
    this.#world.faults.last(ms);
    this.life?.stall(ms);
  }

  /** Its store answers nothing for a while, or fails. */
  loseStore(how: 'gone' | 'hangs', ms: number): void {
    this.#world.say(this.life, `its store ${how} for ${ms} ms`);
    this.#world.faults.last(ms);
    this.store = how;
    this.#world.timeline.after(ms, () => this.storeBack());
  }

  storeBack(): void {
    this.store = 'up';
    const hanging = this.hanging;
    this.hanging = [];
    for (const go of hanging) go();
  }
}
