import { Thread } from '../thread.ts';
import type { Guessed } from './all-defined.ts';
import type { PlaceText } from './declared.ts';
import type { Look, LookOptions } from './known-tree.ts';
import { unpackHits } from './pack.ts';
import type { PackedLook, ScoutQuestion } from './scout-worker.ts';
import type { PlainUses } from './plain-uses.ts';
import type { Spot } from './spots.ts';
import type { Survey, SurveyAsk } from './trees.ts';

const PROGRAM = import.meta.url.endsWith('.ts')
  ? new URL('./scout-worker.ts', import.meta.url)
  : new URL('./scout-worker.js', import.meta.url);

/**
 * Text search beneath everything: one thread that knows which files every tree has, what changed since it was asked
 * last, and which file may hold a word. What it answers has the shape of what it was asked: it is ours.
 */
export class Scout implements AsyncDisposable {
  readonly #thread = new Thread<ScoutQuestion>({ program: PROGRAM, name: 'The text search' });
  #closed = false;

  async look(root: string, options: LookOptions): Promise<Look> {
    const look = (await this.#thread.ask({ kind: 'look', root, options })) as PackedLook;
    return { ...look, hits: unpackHits(look.hits) };
  }

  /** The files of these names, anywhere in the tree. */
  async named(root: string, names: readonly string[], again: boolean): Promise<readonly string[]> {
    return (await this.#thread.ask({ kind: 'named', root, names, again })) as string[];
  }

  async same(root: string, other: string, endings: readonly string[]): Promise<boolean> {
    return (await this.#thread.ask({ kind: 'same', root, other, endings })) as boolean;
  }

  async survey(root: string, asked: SurveyAsk): Promise<Survey> {
    return (await this.#thread.ask({ kind: 'survey', root, asked })) as Survey;
  }

  async uses(root: string, path: string, name: string): Promise<PlainUses | null> {
    return (await this.#thread.ask({ kind: 'uses', root, path, name })) as PlainUses | null;
  }

  async definesOnly(root: string, path: string, asked: Guessed): Promise<boolean> {
    return (await this.#thread.ask({ kind: 'definesOnly', root, path, asked })) as boolean;
  }

  async places(
    root: string,
    spots: readonly (Spot & { readonly path: string })[],
  ): Promise<readonly PlaceText[]> {
    return (await this.#thread.ask({ kind: 'places', root, spots })) as PlaceText[];
  }

  /** Nothing is read in advance meanwhile: a server that loads its project takes every core. */
  restUntil(over: Promise<unknown>): void {
    const tell = (resting: boolean): void => {
      if (!this.#closed) void this.#thread.ask({ kind: 'rest', resting }).catch(() => undefined);
    };
    tell(true);
    over.then(
      () => tell(false),
      () => tell(false),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#thread[Symbol.asyncDispose]();
  }
}
