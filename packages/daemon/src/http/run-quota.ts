import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RunId } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';

export type RunLimits = Pick<Config['daemon'], 'runCallsPerSecond' | 'runOpenCalls' | 'runBodyBytes'>;

/** Reading a request takes time by its length, and much of it is kept: so many bytes count like one more call. */
const BYTES_PER_CALL = 16 * 1024;
/** How many seconds of calls a run that was quiet may make at once. */
const BURST_S = 5;

interface Spent {
  /** Calls that may be made now. Below zero after a long request, which counts as many. */
  calls: number;
  at: number;
  open: number;
  /** Bytes of request bodies that are not read to their end. */
  sending: number;
}

/**
 * The calls that each run may make: `runCallsPerSecond` in the long run, five seconds of that at once, `runOpenCalls` that are
 * not answered yet, and `runBodyBytes` of request bodies that are being sent. A run that asks for more is told when to come back.
 * Nothing is counted for several runs together, because one of them could then use up what the others need.
 */
export class RunQuota {
  readonly #limits: RunLimits;
  readonly #now: () => number;
  readonly #runs = new Map<RunId, Spent>();

  constructor(limits: RunLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Null: it is served, and counted until it is answered. Else why not, and when to come back. */
  take(
    run: RunId,
    request: IncomingMessage,
    response: ServerResponse,
  ): { readonly why: string; readonly retryS: number } | null {
    const spent = this.#of(run);
    const { runCallsPerSecond: rate, runOpenCalls, runBodyBytes } = this.#limits;
    if (spent.open >= runOpenCalls)
      return { why: `This run has ${spent.open} calls open, as many as it may. Wait for one.`, retryS: 1 };
    if (spent.calls < 1) {
      const retryS = Math.ceil((1 - spent.calls) / rate);
      return {
        why: `This run makes more than ${rate} calls in a second. Call again in ${retryS} s.`,
        retryS,
      };
    }
    const bytes = this.#bytesOf(request);
    if (spent.sending + bytes > runBodyBytes)
      return { why: 'Other large requests of this run are being read. Call again in 1 s.', retryS: 1 };
    spent.calls -= 1 + bytes / BYTES_PER_CALL;
    spent.open += 1;
    spent.sending += bytes;
    response.once('close', () => (spent.open -= 1));
    // Not until the answer: a call that waits for a child must not keep others from sending.
    request.once('close', () => (spent.sending -= bytes));
    return null;
  }

  /** The length a body says it has; one that does not say may be as long as any. */
  #bytesOf({ headers }: IncomingMessage): number {
    const { runBodyBytes } = this.#limits;
    if (headers['transfer-encoding'] !== undefined) return runBodyBytes;
    const announced = Number(headers['content-length'] ?? 0);
    // Nobody reads what is too large.
    return announced > runBodyBytes ? 0 : announced;
  }

  #of(run: RunId): Spent {
    const now = this.#now();
    const most = this.#limits.runCallsPerSecond * BURST_S;
    const spent = this.#runs.get(run) ?? { calls: most, at: now, open: 0, sending: 0 };
    spent.calls = Math.min(most, spent.calls + ((now - spent.at) / 1_000) * this.#limits.runCallsPerSecond);
    spent.at = now;
    if (!this.#runs.has(run)) this.#prune(now);
    this.#runs.set(run, spent);
    return spent;
  }

  /** Runs that ask for nothing are as if they had never asked. */
  #prune(now: number): void {
    if (this.#runs.size < 1_000) return;
    for (const [run, { at, open }] of this.#runs) if (open === 0 && now - at > 60_000) this.#runs.delete(run);
  }
}
