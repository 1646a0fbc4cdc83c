import { isNamePart } from './words.ts';

/** What a name stands for that an import binds. */
export interface Imported {
  readonly from: string;
  readonly name: string;
}

/** What stands nowhere between the word and the path of the module. */
const ENDS = /[;'"`=(]/g;
const LONGEST = 20_000;
const LONGEST_NAME = 400;
const PATH = /(['"])([^'"\n]+)\1/y;

/** Between two signs that no import has before its path. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  /** Where its import begins, and its module; null: it has none. */
  readonly statement: { readonly start: number; readonly module: string } | null;
}

/** The imports of a script. Whoever looks at many places of a text asks one of these: each stretch of it is looked through once. */
export class ImportStatements {
  readonly #text: string;
  #last: Stretch | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /** What a name stands for that is bound by the import around it; null: there is none. */
  importAt(at: number, name: string): Imported | null {
    const statement = this.#around(at);
    if (!statement || this.#isRenamed(at + name.length)) return null;
    const { start, module: from } = statement;
    const before = this.#text.slice(start, at);
    if (/\*\s*as\s+$/.test(before.slice(-LONGEST_NAME))) return { from, name: '*' };
    const original = /([\w$]+)\s+as\s+$/.exec(before.slice(-LONGEST_NAME))?.[1];
    if (original !== undefined) return { from, name: original };
    return { from, name: before.includes('{') ? name : 'default' };
  }

  /** The module of an import around a name that is bound under another (`{ name as other }`), and not itself; null: there is none. */
  renamedAt(at: number, name: string): string | null {
    return this.#isRenamed(at + name.length) ? (this.#around(at)?.module ?? null) : null;
  }

  #isRenamed(end: number): boolean {
    return (this.#text[end] ?? '') <= ' ' && /^\s+as\s/.test(this.#text.slice(end, end + 40));
  }

  #around(at: number): Stretch['statement'] {
    const known = this.#last && at >= this.#last.from && at <= this.#last.to ? this.#last : null;
    const { statement } = known ?? this.#stretch(at);
    return statement && statement.start < at ? statement : null;
  }

  #stretch(at: number): Stretch {
    const text = this.#text;
    let from = at;
    while (from > 0 && at - from < LONGEST && !`;'"\`=(`.includes(text[from - 1] ?? '')) from -= 1;
    ENDS.lastIndex = at;
    const to = ENDS.exec(text)?.index ?? text.length;
    const within = text.slice(from, to);
    PATH.lastIndex = to;
    const module = /\bfrom\s*$/.test(within.slice(-LONGEST_NAME)) ? PATH.exec(text)?.[2] : undefined;
    const start = lineOfImport(text, from, to);
    const statement = module !== undefined && start !== null ? { start, module } : null;
    return (this.#last = { from, to, statement });
  }
}

/** Where the last line within begins that begins with the word; null: there is none. */
function lineOfImport(text: string, from: number, to: number): number | null {
  const line = text.slice(from, to).lastIndexOf('\nimport');
  if (line < 0 && from > 0) return null;
  const start = line < 0 ? 0 : from + line + 1;
  return text.startsWith('import', start) && !isNamePart(text, start + 6) ? start : null;
}
