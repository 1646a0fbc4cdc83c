import { dirname, join } from 'node:path/posix';
import type { Held } from './contents.ts';
import { occurrences, needleOf } from './words.ts';

/** The files of a tree, as far as they can be read. */
export interface Files {
  readonly has: (path: string) => boolean;
  readonly hold: (path: string) => Held | null;
}

/** Where something is; `unclear`: the text does not tell, `absent`: not there for certain. */
type Found = { readonly path: string; readonly offset: number } | 'unclear' | 'absent';

const MOST_STEPS = 6;

/**
 * Where one name is declared as a member of something else (`Head.name`), by the text alone: a static member of a class, what
 * is put on a class at the top of its file, a member of an enumeration, also of a compiled one, which no server knows. Imports by
 * relative paths are followed to the file that declares the head. What is not plain to see is left to the server.
 */
export class Members {
  readonly #name: string;
  readonly #files: Files;
  readonly #known = new Map<string, string | null>();

  constructor(name: string, files: Files) {
    this.#name = name;
    this.#files = files;
  }

  /** Of what a module exports as `head`. The module is a path from the root, as it is written. */
  imported(module: string, head: string): string | null {
    return this.#once(`${module}\0${head}`, () => this.#exported(module, head, MOST_STEPS));
  }

  /** Of what a file itself declares as `head`. */
  own(path: string, head: string): string | null {
    return this.#once(`\0${path}\0${head}`, () => {
      const held = this.#files.hold(path);
      return held ? memberOf(path, held, { head, name: this.#name, exported: false }) : 'unclear';
    });
  }

  #once(key: string, find: () => Found): string | null {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = /^[\w$]+$/.test(this.#name) ? find() : 'unclear';
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

  #exported(module: string, head: string, steps: number): Found {
    const path = fileOf(module, this.#files.has);
    const held = path === null ? null : this.#files.hold(path);
    if (path === null || !held || steps === 0) return 'unclear';
    const here = memberOf(path, held, { head, name: this.#name, exported: true });
    if (here !== 'absent') return here;
    const passed = passedOn(held, head);
    if (passed === 'unclear') return 'unclear';
    const found = passed
      .map(({ from, name }) =>
        from.startsWith('.') ? this.#exported(join(dirname(path), from), name, steps - 1) : 'unclear',
      )
      .filter((each) => each !== 'absent');
    const [only] = found;
    if (only === undefined) return 'absent';
    return found.length === 1 ? only : 'unclear';
  }
}

/** The file that a relative import leads to; null: none, or more than one may be meant. */
function fileOf(module: string, has: (path: string) => boolean): string | null {
  const stem = module.replace(/\.[cm]?jsx?$/, '');
  if (has(`${stem}.d.ts`) || has(`${module}.d.ts`)) return null;
  const isScript = stem !== module;
  const endings = isScript ? ['.ts', '.tsx'] : ['.ts', '.tsx', '.js', '.jsx', '/index.ts', '/index.tsx', '/index.js'];
  const found = endings.map((ending) => `${stem}${ending}`).filter(has);
  if (isScript && has(module)) found.push(module);
  return found.length === 1 ? (found[0] ?? null) : null;
}

const escaped = (name: string): string => name.replaceAll('$', String.raw`\$`);

const LIST = /^export\s*\{([^}]*)\}(?:\s*from\s*(['"])([^'"\n]+)\2)?/gm;
const STAR = /^export\s*\*\s*(as\s+[\w$]+\s*)?from\s*(['"])([^'"\n]+)\2/gm;

/** From where a file that does not declare a name may export it. */
function passedOn(held: Held, head: string): readonly { readonly from: string; readonly name: string }[] | 'unclear' {
  const named: { from: string; name: string }[] = [];
  for (const { 1: list = '', 3: from } of held.text.matchAll(LIST))
    for (const entry of list.split(',')) {
      const [name = '', other = name] = entry.trim().split(/\s+as\s+/);
      if (other !== head) continue;
      // What is exported by name alone was imported or is declared in a way that was not seen.
      if (from === undefined) return 'unclear';
      named.push({ from, name });
    }
  if (named.length > 0) return named.length === 1 ? named : 'unclear';
  const stars = [...held.text.matchAll(STAR)];
  if (stars.some(([, as]) => as !== undefined && as.includes(head))) return 'unclear';
  return stars.filter(([, as]) => as === undefined).map(({ 3: from = '' }) => ({ from, name: head }));
}

interface Asked {
  readonly head: string;
  readonly name: string;
  /** It must be seen from elsewhere. */
  readonly exported: boolean;
}

/** Where a file declares a member of a head that it declares itself. */
function memberOf(path: string, held: Held, { head, name, exported }: Asked): Found {
  const regions = held.regions();
  if (!regions) return 'unclear';
  const declares = new RegExp(
    `^(export\\s+)?(?:default\\s+|declare\\s+|abstract\\s+|const\\s+(?=enum))*(class|enum|namespace|module|interface|type|var|let|const|function\\*?)[ \\t]+${escaped(head)}(?![\\w$])`,
    'gm',
  );
  const declared = [...held.text.matchAll(declares)].filter(({ index }) => !regions.at(index));
  const [only] = declared;
  if (!only) return 'absent';
  const [, exporting, kind = ''] = only;
  if (declared.length > 1 || (exported && exporting === undefined)) return 'unclear';
  const found = [...WAYS[kind]?.(held, { head, name, from: only.index }) ?? []];
  return found.length === 1 && found[0] !== undefined ? { path, offset: found[0] } : 'unclear';
}

type Way = (held: Held, asked: { readonly head: string; readonly name: string; readonly from: number }) => number[];

/** `static name`, or `Head.name = …` at the top. */
const inClass: Way = (held, { head, name, from }) => {
  const member = new RegExp(
    `^\\s+static\\s+(?:(?:async|get|set|readonly|override|accessor)\\s+|\\*\\s*)*${escaped(name)}\\s*[(=:;?!<]`,
  );
  const put = new RegExp(`^${escaped(head)}\\.${escaped(name)}\\s*=(?!=)`);
  return codeOf(held, name).filter((offset) => {
    const lines = held.lines();
    const row = lines.row(lines.at(offset));
    const column = offset - lines.start(lines.at(offset));
    if (put.test(row)) return column === head.length + 1;
    const match = member.exec(row);
    return match !== null && row.indexOf(name, row.indexOf('static') + 6) === column && isDirectlyIn(held, from, offset);
  });
};

const inEnum: Way = (held, { name, from }) => {
  const member = new RegExp(`^\\s*${escaped(name)}\\s*(?:[=,}]|$)`);
  return codeOf(held, name).filter((offset) => {
    const lines = held.lines();
    return member.test(lines.row(lines.at(offset))) && isDirectlyIn(held, from, offset);
  });
};

/** What a compiler makes of an enumeration: `Head[Head["name"] = 1] = "name"`. */
const inCompiledEnum: Way = (held, { head, name }) => {
  const own = escaped(head);
  if (!held.text.includes(`(function (${head}) {`)) return [];
  const written = new RegExp(`^\\s+${own}\\[(?:${own}\\[)?"${escaped(name)}"\\]\\s*=(?!=)`, 'gm');
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

/** Of all brackets that open from one offset on, only the first, a brace, is open at the other. */
function isDirectlyIn(held: Held, from: number, offset: number): boolean {
  let depth = 0;
  let opened = 0;
  for (const part of held.regions()?.code(held.text, offset, from) ?? [])
    for (let i = 0; i < part.length; i++) {
      const code = part.charCodeAt(i);
      const opens = code === 0x7b || code === 0x28 || code === 0x5b;
      const closes = code === 0x7d || code === 0x29 || code === 0x5d;
      if (opens && depth === 0) {
        opened += 1;
        if (code !== 0x7b || opened > 1) return false;
      }
      if (opens) depth += 1;
      if (closes) depth -= 1;
    }
  return depth === 1;
}
