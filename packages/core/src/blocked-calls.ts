/** The calls of an agent that wait for others, of its newest turn: what an interrupted one still waits for says nothing. */
export class BlockedCalls {
  #turn: number | null = null;
  #count = 0;

  /** A call of this turn begins to wait; the returned function ends it. */
  enter(turn: number | null): () => void {
    if (turn !== this.#turn) this.#count = 0;
    this.#turn = turn;
    this.#count++;
    return () => {
      if (this.#turn === turn) this.#count--;
    };
  }

  waitsIn(turn: number | null): boolean {
    return this.#turn === turn && this.#count > 0;
  }
}
