import { faulty, type FaultError } from './faults.ts';

/**
 * No answer is longer; one that is, is not one. Characters of words, thoughts and arguments of calls together: several times
 * what any model gives at once.
 */
const LONGEST = 2_000_000;
const MOST_CALLS = 200;
/** Of the whole response, whatever it holds: an event of a few characters has a few hundred bytes around them. */
const MOST_BYTES = 48 * 2 ** 20;
/** Of one line of it, which is kept until its end comes. */
const LONGEST_LINE = 4 * 2 ** 20;

/** The part of a piece of a stream that counts. */
interface Piece {
  readonly type: string;
  readonly text?: unknown;
  readonly delta?: unknown;
  readonly input?: unknown;
}

/**
 * Ends the call of a model whose answer has no end: counts its bytes as they arrive, its characters and its calls as they are
 * understood. The SDK keeps all of it in memory, so the call has to be ended and not only left.
 */
export class AnswerBound {
  readonly #over = new AbortController();
  #fault: FaultError | null = null;
  /** Characters of all pieces; and of the arguments of calls that are whole, which an endpoint may send without pieces before. */
  #chars = 0;
  #inputs = 0;
  #begun = 0;
  #calls = 0;

  /** Fires when the answer is too large. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** For the SDK: the response it gets is cut off at so many bytes. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    if (!response.body) return response;
    let [bytes, line] = [0, 0];
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        const lastEnd = chunk.lastIndexOf(10);
        bytes += chunk.byteLength;
        line = lastEnd === -1 ? line + chunk.byteLength : chunk.byteLength - lastEnd;
        if (bytes > MOST_BYTES) controller.error(this.#end(`${MOST_BYTES} bytes`));
        else if (line > LONGEST_LINE) controller.error(this.#end(`${LONGEST_LINE} bytes in one line`));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(count), { status, statusText, headers });
  };

  /** Throws if the answer is too large with this piece. */
  hear({ type, text, delta, input }: Piece): void {
    if (type.endsWith('-delta')) this.#chars += lengthOf(text) + lengthOf(delta);
    if (type === 'tool-input-start') this.#begun += 1;
    if (type === 'tool-call') {
      this.#calls += 1;
      this.#inputs += JSON.stringify(input ?? '').length;
    }
    if (Math.max(this.#chars, this.#inputs) > LONGEST) throw this.#end(`${LONGEST} characters`);
    if (Math.max(this.#begun, this.#calls) > MOST_CALLS) throw this.#end(`${MOST_CALLS} calls of tools`);
  }

  /** The SDK takes a call that was ended for one that was given up, and says nothing. */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  #end(what: string): FaultError {
    this.#fault ??= faulty('invalid', `the model gave an answer of more than ${what}`, { oversized: true });
    this.#over.abort(this.#fault);
    return this.#fault;
  }
}

const lengthOf = (text: unknown): number => (typeof text === 'string' ? text.length : 0);
