import type { Task } from '@reveille/protocol';

/** Who works in whose checkout. While a child has it, its owner does not write there (WKT2). */
export class Lending {
  readonly #byChild = new Map<string, { readonly owner: Task; readonly reads: boolean }>();

  /** `reads`: the child cannot write there, so nobody need wait until it is gone. */
  lend(owner: Task, child: string, { reads }: { readonly reads: boolean }): void {
    this.#byChild.set(child, { owner, reads });
  }

  giveBack(child: string): void {
    this.#byChild.delete(child);
  }

  isLent(owner: string): boolean {
    return [...this.#byChild.values()].some((lent) => !lent.reads && lent.owner.id === owner);
  }

  /** Whose checkout a task works in: its own, or that of whoever lent it theirs, who may have it from another. */
  ownerOf(task: Task): Task {
    const lent = this.#byChild.get(task.id);
    return lent ? this.ownerOf(lent.owner) : task;
  }
}
