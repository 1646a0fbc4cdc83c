import { Worker } from 'node:worker_threads';
import { ReveilleError } from '@reveille/protocol';
import type { Guessed } from './all-defined.ts';
import type { PlaceText } from './declared.ts';
import type { Look, LookOptions } from './known-tree.ts';
import { unpackHits } from './pack.ts';
import type { PackedLook, Request } from './scout-worker.ts';
import type { PlainUses } from './plain-uses.ts';
import type { Spot } from './spots.ts';
import type { Survey, SurveyAsk } from './trees.ts';

const PROGRAM = import.meta.url.endsWith('.ts')
  ? new URL('./scout-worker.ts', import.meta.url)
  : new URL('./scout-worker.js', import.meta.url);

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };
type Asked = Request extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

/**
 * Text search beneath everything: one thread that knows which files every tree has, what changed since it was asked
 * last, and which file may hold a word. Started with the first question; it keeps no process alive.
 */
export class Scout implements AsyncDisposable {
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #closed = false;

  async look(root: string, options: LookOptions): Promise<Look> {
    const look = (await this.#ask({ kind: 'look', root, options })) as PackedLook;
    return { ...look, hits: unpackHits(look.hits) };
  }

  /** The files of these names, anywhere in the tree. */
  async named(root: string, names: readonly string[], again: boolean): Promise<readonly string[]> {
    return (await this.#ask({ kind: 'named', root, names, again })) as string[];
  }

  async same(root: string, other: string, endings: readonly string[]): Promise<boolean> {
    return (await this.#ask({ kind: 'same', root, other, endings })) as boolean;
  }

  async survey(root: string, asked: SurveyAsk): Promise<Survey> {
    return (await this.#ask({ kind: 'survey', root, asked })) as Survey;
  }

  async uses(root: string, path: string, name: string): Promise<PlainUses | null> {
    return (await this.#ask({ kind: 'uses', root, path, name })) as PlainUses | null;
  }

  async definesOnly(root: string, path: string, asked: Guessed): Promise<boolean> {
    return (await this.#ask({ kind: 'definesOnly', root, path, asked })) as boolean;
  }

  async places(
    root: string,
    spots: readonly (Spot & { readonly path: string })[],
  ): Promise<readonly PlaceText[]> {
    return (await this.#ask({ kind: 'places', root, spots })) as PlaceText[];
  }

  /** Nothing is read in advance meanwhile: a server that loads its project takes every core. */
  restUntil(over: Promise<unknown>): void {
    const tell = (resting: boolean): void => {
      if (!this.#closed) void this.#ask({ kind: 'rest', resting }).catch(() => undefined);
    };
    tell(true);
    over.then(
      () => tell(false),
      () => tell(false),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  /** The thread is ours: what it answers has the shape of what it was asked. */
  async #ask(asked: Asked): Promise<unknown> {
    // What goes on after the end must not begin a thread that nobody ends.
    if (this.#closed) throw new ReveilleError('internal', 'The text search has stopped.');
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#last;
    return await new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ ...asked, id });
    });
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { execArgv: [], env: {}, stdin: false });
    worker.unref();
    worker.on('message', ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new ReveilleError('internal', `Text search: ${error}`));
    });
    // A thread that is gone is made anew by the next question; those it had are told.
    const gone = (): void => {
      if (this.#worker === worker) this.#worker = null;
      for (const { reject } of this.#waiting.values())
        reject(new ReveilleError('internal', 'The text search has stopped.'));
      this.#waiting.clear();
    };
    worker.on('error', gone);
    worker.on('exit', gone);
    return worker;
  }
}
