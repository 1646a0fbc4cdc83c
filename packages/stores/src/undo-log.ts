/** Something that can put one of its entries back to what it was. */
export interface Undoable<T> {
  restore(id: string, before: T | undefined): void;
}

interface Step {
  readonly target: Undoable<never>;
  readonly id: string;
  readonly before: unknown;
}

/** Before-images in order of the writes. Undoing walks them backwards. */
export class UndoLog {
  #steps: Step[] = [];

  record<T>(target: Undoable<T>, id: string, before: T | undefined): void {
    this.#steps.push({ target: target as Undoable<never>, id, before });
  }

  mark(): number {
    return this.#steps.length;
  }

  undoTo(mark: number): void {
    while (this.#steps.length > mark) {
      const step = this.#steps.pop();
      step?.target.restore(step.id, step.before as undefined);
    }
  }

  /** What happened until now stays. */
  clear(): void {
    this.#steps.length = 0;
  }
}
