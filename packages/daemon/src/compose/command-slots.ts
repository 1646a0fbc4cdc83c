import { ReveilleError } from '@reveille/protocol';

/** So many commands of one worker run at once, since each holds in memory what it writes. More wait until one has ended. */
const AT_ONCE = 8;

interface Slots {
  taken: number;
  /** Whoever waits, in the order they came. */
  readonly waiting: Set<() => void>;
}

/** Room for the commands of workers, counted for each by itself: no worker waits for another's. */
export class CommandSlots {
  readonly #workers = new Map<string, Slots>();

  /** Resolves when there is room, which is taken until what it resolves to is disposed. */
  async take(worker: string, signal: AbortSignal): Promise<Disposable> {
    const slots = this.#workers.get(worker) ?? { taken: 0, waiting: new Set() };
    this.#workers.set(worker, slots);
    if (slots.taken >= AT_ONCE) await turnIn(slots, signal);
    else slots.taken++;
    return { [Symbol.dispose]: () => this.#release(worker, slots) };
  }

  /** A slot goes from hand to hand, so that nobody who comes meanwhile takes it. */
  #release(worker: string, slots: Slots): void {
    const [next] = slots.waiting;
    if (next) return next();
    slots.taken--;
    if (slots.taken === 0) this.#workers.delete(worker);
  }
}

function turnIn({ waiting }: Slots, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      waiting.delete(begin);
      signal.removeEventListener('abort', giveUp);
      settle();
    };
    const begin = (): void => end(resolve);
    const giveUp = (): void =>
      end(() => reject(new ReveilleError('aborted', 'The call was given up before the command began.')));
    waiting.add(begin);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
  });
}
