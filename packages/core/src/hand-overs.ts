import type { Message } from '@reveille/protocol';

/** Numbers the moments of one host at which calls begin and mail arrives, so that any two of them have an order. */
export class Moments {
  #last = 0;

  next(): number {
    return ++this.#last;
  }
}

/** One hand-over of mail. Only a call that begins after its arrival proves that the receiver has it (WAK9). */
export interface HandOver {
  /** Null: it is still on its way. */
  readonly arrivedAt: number | null;
}

/** One call of a session, and the mail that its answer carries. */
export class CallExchange implements HandOver {
  readonly began: number;
  arrivedAt: number | null = null;
  readonly carried: Message[] = [];
  readonly #moments: Moments;

  constructor(moments: Moments) {
    this.#moments = moments;
    this.began = moments.next();
  }

  /** The answer got out. A call that was under way by then was made without it. */
  answered(): void {
    this.arrivedAt = this.#moments.next();
  }
}

/** Whether a call that began at `moment` was made after the hand-over had arrived. */
export const hadArrived = ({ arrivedAt }: HandOver, moment: number): boolean =>
  arrivedAt !== null && arrivedAt < moment;
