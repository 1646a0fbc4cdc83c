import { Contents } from './contents.ts';
import { placeText, type PlaceText } from './declared.ts';
import { isAllDefined, type Guessed } from './all-defined.ts';
import { KnownTree, type Look, type LookOptions } from './known-tree.ts';
import { leadsTo } from './leads.ts';
import { plainUses, type PlainUses } from './plain-uses.ts';
import type { Spot } from './spots.ts';

/** A name in a file that is most likely not the one that defines it. */
export interface SurveyAsk {
  readonly path: string;
  readonly name: string;
  readonly since: number | null;
  readonly projectFiles: readonly string[];
  /** Where it most likely leads; null: nobody knows. */
  readonly guess: PathSpot | null;
}

type PathSpot = Spot & { readonly path: string };

export interface Survey {
  readonly look: Omit<Look, 'hits'>;
  /** Where projects begin. */
  readonly projects: readonly string[];
  /** Where the file uses the name; null: a parser must say. */
  readonly uses: PlainUses | null;
  /** What stands where it most likely leads. */
  readonly places: readonly (PlaceText & { readonly at: PathSpot })[];
}

/** Trees that nobody asks about are forgotten; another look makes them anew. */
const MOST_TREES = 64;

/** What is known of the files of each tree. Lives in a thread of its own: it reads synchronously. */
export class Trees implements Disposable {
  readonly #trees = new Map<string, KnownTree>();
  readonly #contents: Contents;
  readonly #watches: boolean;

  /**
   * `watches`: the system is asked what changed, and the disk is not looked at in full with every question. Then whoever asks waits
   * for `eventsNoted` before.
   */
  constructor({
    watches = false,
    contents = new Contents(),
  }: { watches?: boolean; contents?: Contents } = {}) {
    this.#watches = watches;
    this.#contents = contents;
  }

  look(root: string, options: LookOptions): Look {
    return this.#at(root).look(options);
  }

  named(root: string, names: readonly string[], again = false): readonly string[] {
    return this.#at(root).named(names, again);
  }

  /** Where a file uses a name, if it defines none; null: a parser must say. */
  uses(root: string, path: string, name: string): PlainUses | null {
    return this.#at(root).files(({ hold }) => {
      const held = hold(path);
      return held && plainUses(path, held, name);
    });
  }

  /** All that is needed besides a server's word on a name that a file uses, in one turn. */
  survey(root: string, { path, name, since, projectFiles, guess }: SurveyAsk): Survey {
    const tree = this.#at(root);
    const { hits: _, ...look } = tree.look({ needle: null, since });
    const projects = tree.named(projectFiles, true);
    // The path is as somebody gave it: only what was found in the tree is read.
    if (!tree.files(({ has }) => has(path))) return { look, projects, uses: null, places: [] };
    return {
      look,
      projects,
      uses: this.uses(root, path, name),
      places: this.#likely(root, { path, name, guess }),
    };
  }

  #likely(root: string, { path, name, guess }: Pick<SurveyAsk, 'path' | 'name' | 'guess'>): Survey['places'] {
    const spots = guess ? [guess] : this.#at(root).files((files) => leadsTo(files, path, name));
    const texts = this.places(root, spots);
    return spots.flatMap((at, i) => (texts[i] ? [{ ...texts[i], at }] : []));
  }

  /** Whether a guess is all that a file defines of a name; false: a parser must say. */
  definesOnly(root: string, path: string, asked: Guessed): boolean {
    return this.#at(root).files(({ hold }) => {
      const held = hold(path);
      return held !== null && isAllDefined(path, held, asked);
    });
  }

  /** The lines of places, and what is declared there. */
  places(root: string, spots: readonly PathSpot[]): PlaceText[] {
    return this.#at(root).files(({ hold }) =>
      spots.map((spot) => {
        const held = hold(spot.path);
        return held ? placeText(spot.path, held, spot) : { text: '', declared: null };
      }),
    );
  }

  /** Whether all files that a server might read are the same in both: what differs in others does not matter. */
  same(one: string, other: string, endings: readonly string[]): boolean {
    const [a, b] = [one, other].map((root) => this.#at(root).contents(endings));
    if (!a || !b || a.size !== b.size) return false;
    return [...a].every(([path, content]) => content !== null && b.get(path) === content);
  }

  /** Does a little of what the next question would have to wait for; false: there is nothing left to do. */
  learn(): boolean {
    for (const tree of this.#trees.values()) if (tree.learn()) return true;
    return false;
  }

  [Symbol.dispose](): void {
    for (const root of this.#trees.keys()) this.#forget(root);
  }

  #forget(root: string): void {
    this.#trees.get(root)?.[Symbol.dispose]();
    this.#trees.delete(root);
  }

  #at(root: string): KnownTree {
    const tree =
      this.#trees.get(root) ?? new KnownTree(root, { contents: this.#contents, watches: this.#watches });
    this.#trees.delete(root);
    this.#trees.set(root, tree);
    for (const oldest of this.#trees.keys()) if (this.#trees.size > MOST_TREES) this.#forget(oldest);
    return tree;
  }
}
