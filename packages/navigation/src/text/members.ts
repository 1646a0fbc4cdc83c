import type { Held } from './contents.ts';
import { declarationIn, escaped, followed, type Files, type Found } from './exports.ts';
import { lastUpTo } from './sorted.ts';
import { occurrences, needleOf } from './words.ts';

/**
 * Where one name is declared as a member of something else (`Head.name`), by the text alone: a static member of a class, what
 * is put on a class at the top of its file, a member of an enumeration, also of a compiled one, which no server knows. Imports by
 * relative paths are followed to the file that declares the head. What is not plain to see is left to the server.
 */
export class Members {
  readonly #name: string;
  readonly #files: Files;
  readonly #known = new Map<string, string | null>();
  /** Where the classes of a file begin. */
  readonly #classes = new Map<string, readonly number[]>();
  readonly #isName: boolean;

  constructor(name: string, files: Files) {
    this.#name = name;
    this.#isName = /^[\w$]+$/.test(name);
    this.#files = files;
  }

  /** Of what a module exports as `head`. The module is a path from the root, as it is written. */
  imported(module: string, head: string): string | null {
    const find = (path: string, held: Held, declared: string): Found =>
      memberOf(path, held, { head: declared, name: this.#name, exported: true });
    return this.#once(`${module}\0${head}`, () => followed(this.#files, { module, name: head }, find));
  }

  /** Of what a file itself declares as `head`. */
  own(path: string, head: string): string | null {
    return this.#once(`\0${path}\0${head}`, () => {
      const held = this.#files.hold(path);
      return held ? memberOf(path, held, { head, name: this.#name, exported: false }) : 'unclear';
    });
  }

  /** A static member of a class at the top of its file is declared where it stands. */
  declaredAt(path: string, held: Held, offset: number): string | null {
    if (!this.#isName || !isStaticAt(held, this.#name, offset)) return null;
    const classes = this.#classes.get(path) ?? [...held.text.matchAll(CLASS)].map(({ index }) => index);
    this.#classes.set(path, classes);
    const from = classes[lastUpTo(classes, offset - 1)];
    const isMember = from !== undefined && held.depths()?.isDirectlyIn(from, offset);
    return isMember ? this.#placeOf({ path, offset }) : null;
  }

  #once(key: string, find: () => Found): string | null {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#isName ? find() : 'unclear';
    const place = typeof found === 'string' ? null : this.#placeOf(found);
    this.#known.set(key, place);
    return place;
  }

  #placeOf({ path, offset }: { readonly path: string; readonly offset: number }): string | null {
    const lines = this.#files.hold(path)?.lines();
    if (!lines) return null;
    const line = lines.at(offset);
    return `${path}:${line + 1}:${offset - lines.start(line) + 1}`;
  }
}

interface Asked {
  readonly head: string;
  readonly name: string;
  /** It must be seen from elsewhere. */
  readonly exported: boolean;
}

/** Where a file declares a member of a head that it declares itself. */
function memberOf(path: string, held: Held, { head, name, exported }: Asked): Found {
  const declared = declarationIn(held, head, { exported });
  if (typeof declared === 'string') return declared;
  const found = WAYS[declared.kind]?.(held, { head, name, from: declared.from }) ?? [];
  return found.length === 1 && found[0] !== undefined ? { path, offset: found[0] } : 'unclear';
}

type Way = (
  held: Held,
  asked: { readonly head: string; readonly name: string; readonly from: number },
) => number[];

// Blanks, not line ends: what begins on every line would otherwise be followed to the end of the file from each.
const CLASS = /^(?:export[ \t]+)?(?:default[ \t]+|declare[ \t]+|abstract[ \t]+)*class\s/gm;

const staticOf = (name: string): RegExp =>
  new RegExp(
    `^\\s+static\\s+(?:(?:async|get|set|readonly|override|accessor)\\s+|\\*\\s*)*${escaped(name)}\\s*[(=:;?!<]`,
  );

function isStaticAt(held: Held, name: string, offset: number): boolean {
  const line = held.lines().at(offset);
  const row = held.lines().row(line);
  if (!row.trimStart().startsWith('static')) return false;
  const column = offset - held.lines().start(line);
  return staticOf(name).test(row) && row.indexOf(name, row.indexOf('static') + 6) === column;
}

/** `static name`, or `Head.name = …` at the top. */
const inClass: Way = (held, { head, name, from }) => {
  const put = new RegExp(`^${escaped(head)}\\.${escaped(name)}\\s*=(?!=)`);
  return codeOf(held, name).filter((offset) => {
    const lines = held.lines();
    const row = lines.row(lines.at(offset));
    const column = offset - lines.start(lines.at(offset));
    if (put.test(row)) return column === head.length + 1;
    return isStaticAt(held, name, offset) && held.depths()?.isDirectlyIn(from, offset) === true;
  });
};

const inEnum: Way = (held, { name, from }) => {
  const member = new RegExp(`^\\s*${escaped(name)}\\s*(?:[=,}]|$)`);
  return codeOf(held, name).filter((offset) => {
    const lines = held.lines();
    return member.test(lines.row(lines.at(offset))) && held.depths()?.isDirectlyIn(from, offset) === true;
  });
};

/** What a compiler makes of an enumeration: `Head[Head["name"] = 1] = "name"`. */
const inCompiledEnum: Way = (held, { head, name }) => {
  const own = escaped(head);
  if (!held.text.includes(`(function (${head}) {`)) return [];
  const written = new RegExp(`^[ \\t]+${own}\\[(?:${own}\\[)?"${escaped(name)}"\\]\\s*=(?!=)`, 'gm');
  return [...held.text.matchAll(written)].map(({ index, 0: match }) => index + match.lastIndexOf(name));
};

const WAYS: Readonly<Record<string, Way>> = {
  class: inClass,
  enum: inEnum,
  var: inCompiledEnum,
  let: inCompiledEnum,
};

const codeOf = (held: Held, name: string): number[] => {
  const regions = held.regions();
  return regions ? [...occurrences(held.text, needleOf(name))].filter((offset) => !regions.at(offset)) : [];
};
