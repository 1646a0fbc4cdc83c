/** Who works in whose checkout. While a child has it, its owner does not write there (WKT2). */
export class Lending {
  readonly #byChild = new Map<string, string>();

  lend(owner: string, child: string): void {
    this.#byChild.set(child, owner);
  }

  giveBack(child: string): void {
    this.#byChild.delete(child);
  }

  isLent(owner: string): boolean {
    return [...this.#byChild.values()].includes(owner);
  }
}
