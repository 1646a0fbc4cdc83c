import type { Task } from '@reveille/protocol';

/** Who works in whose checkout. While a child has it, its owner does not write there (WKT2). */
export class Lending {
  readonly #byChild = new Map<string, Task>();

  lend(owner: Task, child: string): void {
    this.#byChild.set(child, owner);
  }

  giveBack(child: string): void {
    this.#byChild.delete(child);
  }

  isLent(owner: string): boolean {
    return [...this.#byChild.values()].some(({ id }) => id === owner);
  }

  /** Whose checkout a task works in: its own, or that of whoever lent it theirs, who may have it from another. */
  ownerOf(task: Task): Task {
    const owner = this.#byChild.get(task.id);
    return owner ? this.ownerOf(owner) : task;
  }
}
