/** Where somebody waits at the gate. */
export interface Standing {
  readonly lane?: 'first' | 'then';
  /** Those who stand there for the same session; without one, all others. */
  readonly crowd?: string;
}

/**
 * Lets one in at a time. Whoever brings an end or takes mail goes before whoever begins something new, so that a
 * thousand spawns do not stand between a child's end and its parent (WAK1). In each lane the crowds take turns, so that
 * neither do the ends of a thousand children of somebody else; in a crowd it goes by arrival.
 */
export class Gate {
  readonly #first = new Lane();
  readonly #then = new Lane();
  #taken = false;
  #idle: (() => void)[] = [];

  /** Null: there is nobody inside, and nothing to wait for. */
  enter({ lane = 'first', crowd = '' }: Standing): Promise<void> | null {
    if (this.#taken) {
      const queue = lane === 'first' ? this.#first : this.#then;
      return new Promise((resolve) => queue.add(crowd, resolve));
    }
    this.#taken = true;
    return null;
  }

  leave(): void {
    const enter = this.#first.take() ?? this.#then.take();
    if (enter) return enter();
    this.#taken = false;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  /** Resolves when nobody is inside and nobody waits. */
  async idle(): Promise<void> {
    if (this.#taken) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}

class Lane {
  /** In the order of their turns. */
  readonly #crowds = new Map<string, Queue>();

  add(crowd: string, enter: () => void): void {
    const queue = this.#crowds.get(crowd);
    if (queue) queue.add(enter);
    else this.#crowds.set(crowd, new Queue(enter));
  }

  take(): (() => void) | undefined {
    const { value: next } = this.#crowds.entries().next();
    if (!next) return undefined;
    const [crowd, queue] = next;
    const enter = queue.take();
    // Whoever is alone stays where it is; else it is the turn of the next.
    if (queue.empty || this.#crowds.size > 1) this.#crowds.delete(crowd);
    if (!queue.empty) this.#crowds.set(crowd, queue);
    return enter;
  }
}

/** Takes one off without moving the rest each time. */
class Queue {
  readonly #waiting: (() => void)[];
  #at = 0;

  constructor(first: () => void) {
    this.#waiting = [first];
  }

  get empty(): boolean {
    return this.#at === this.#waiting.length;
  }

  add(enter: () => void): void {
    this.#waiting.push(enter);
  }

  take(): (() => void) | undefined {
    return this.#waiting[this.#at++];
  }
}
