import { readdirSync, statSync } from 'node:fs';
import { fold } from './names.ts';
import { compileProtected, PROTECTED_NAMES, type FindProtected, type ProtectedName } from './protected.ts';
import { refuse } from './refusal.ts';
import { find, type Place } from './resolve.ts';

export type Access = 'read' | 'write';

/** A protected name that is a link: what is written where it leads to is written to it. */
interface Alias {
  readonly name: string;
  readonly target: readonly string[];
}

/** Says which names may be written. Asked about the names as given, and about the true ones. */
export class Guard {
  readonly #access: Access;
  readonly #place: Place;
  readonly #find: FindProtected;
  readonly #tops: ReadonlySet<string>;
  #aliases: { readonly stamp: bigint; readonly list: readonly Alias[] } | undefined;

  constructor(place: Place, access: Access, table: readonly ProtectedName[] = PROTECTED_NAMES) {
    this.#place = place;
    this.#access = access;
    this.#find = compileProtected(table);
    this.#tops = new Set(table.map(({ pattern }) => fold(pattern.split('/', 1)[0] ?? '')));
  }

  /** Throws unless the entry may be made, changed or removed. */
  checkWrite(given: string, names: readonly string[]): void {
    if (this.#access === 'read')
      throw refuse(given, 'access', 'cannot be changed: this agent may read files and not write them.');
    if (names.some((name) => fold(name) === 'node_modules'))
      throw refuse(
        given,
        'node_modules',
        'is in node_modules, which only commands change. Run the package manager instead.',
      );
    const entry = this.#find(names) ?? this.#findByAlias(names);
    if (!entry) return;
    const words = `is protected (${entry.pattern}): ${entry.reason} Say what should change and let the person do it.`;
    throw refuse(given, 'protected', words);
  }

  #findByAlias(names: readonly string[]): ProtectedName | undefined {
    for (const { name, target } of this.#linkedTops()) {
      if (!target.every((part, i) => part === names[i])) continue;
      const entry = this.#find([name, ...names.slice(target.length)]);
      if (entry) return entry;
    }
    return undefined;
  }

  /**
   * Protected names at the root that are links, such as `.claude` to a folder shared by several agents. Looked for
   * again when the root has changed. Links further down are not looked for.
   */
  #linkedTops(): readonly Alias[] {
    const here = this.#place.root.at('.');
    const stamp = statSync(here, { bigint: true }).mtimeNs;
    if (this.#aliases?.stamp !== stamp) this.#aliases = { stamp, list: this.#readLinks(here) };
    return this.#aliases.list;
  }

  #readLinks(here: string): readonly Alias[] {
    const links = readdirSync(here, { withFileTypes: true }).filter(
      (entry) => entry.isSymbolicLink() && this.#tops.has(fold(entry.name)),
    );
    return links.flatMap(({ name }) => {
      const target = this.#targetOf(name);
      return target ? [{ name, target }] : [];
    });
  }

  #targetOf(name: string): readonly string[] | undefined {
    const asked = { given: name, names: [name], folder: false };
    try {
      using found = find(this.#place, asked);
      return found.names;
    } catch {
      // It leads out, to nothing, or round in a circle: nothing can be written through it.
      return undefined;
    }
  }
}
