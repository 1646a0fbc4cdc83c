interface Due {
  readonly at: number;
  readonly order: number;
  fire: (() => void) | null;
}

/**
 * Virtual time. Nothing in a world happens by itself: everything that is to come is in this queue, and among
 * things due at the same moment chance decides which is first.
 */
export class Timeline {
  /** Monotonic milliseconds since the world began. */
  now = 0;
  readonly #order: () => number;
  readonly #heap: Due[] = [];

  constructor(order: () => number) {
    this.#order = order;
  }

  after(ms: number, fire: () => void): () => void {
    const due: Due = { at: this.now + Math.max(0, ms), order: this.#order(), fire };
    this.#push(due);
    return () => {
      due.fire = null;
    };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Lets the next thing happen, and all that follows from it without waiting. False: nothing is to come. */
  async step(): Promise<boolean> {
    for (let due = this.#pop(); due; due = this.#pop()) {
      if (!due.fire) continue;
      this.now = due.at;
      due.fire();
      await quiesce();
      return true;
    }
    return false;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up] as Due;
      if (!before(due, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Due, heap[child] as Due)) child++;
      if (!before(heap[child] as Due, last)) break;
      heap[at] = heap[child] as Due;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const before = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/**
 * Resolves when every promise that can go on has. Asked for from a microtask, the tick queue is only looked at
 * when there are no microtasks left, and the engine waits by promises and the Clock alone.
 */
export const quiesce = (): Promise<void> =>
  new Promise((resolve) => {
    process.nextTick(resolve);
  });
