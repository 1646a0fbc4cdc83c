import { dirname, join } from 'node:path/posix';
import type { Held } from './contents.ts';
import { lineNear, offsetsOf } from './spots.ts';

/** The files of a tree, as far as they can be read. */
export interface Files {
  readonly has: (path: string) => boolean;
  readonly hold: (path: string) => Held | null;
}

/** Where something is; `unclear`: the text does not tell, `absent`: not there for certain. */
export type Found = { readonly path: string; readonly offset: number } | 'unclear' | 'absent';

/** What a module exports, by the path of the module from the root, as it is written in an import. */
export interface Exported {
  readonly module: string;
  readonly name: string;
}

const MOST_STEPS = 6;
/** Files in all: of some that pass all of each other on, every way would be another. */
const MOST_FILES = 500;

/**
 * Something about what a module exports, by the text alone: files that pass it on are followed to the one in which `find` finds
 * it. What is not plain to see is unclear.
 */
export function followed(
  files: Files,
  { module, name }: Exported,
  find: (path: string, held: Held, name: string) => Found,
  way = { steps: MOST_STEPS, seen: { files: 0 } },
): Found {
  way.seen.files += 1;
  if (way.steps === 0 || way.seen.files > MOST_FILES) return 'unclear';
  const path = fileOf(module, files.has);
  const held = path === null ? null : files.hold(path);
  if (path === null || !held) return 'unclear';
  const here = find(path, held, name);
  if (here !== 'absent') return here;
  const passed = passedOn(held, name);
  if (passed === 'unclear') return 'unclear';
  const further = { steps: way.steps - 1, seen: way.seen };
  const found = passed
    .map((next) =>
      next.from.startsWith('.')
        ? followed(files, { module: join(dirname(path), next.from), name: next.name }, find, further)
        : 'unclear',
    )
    .filter((each) => each !== 'absent');
  const [only] = found;
  if (only === undefined) return 'absent';
  return found.length === 1 ? only : 'unclear';
}

/** The file that a relative import leads to; null: none, or more than one may be meant. */
function fileOf(module: string, has: (path: string) => boolean): string | null {
  const stem = module.replace(/\.[cm]?jsx?$/, '');
  if (has(`${stem}.d.ts`) || has(`${module}.d.ts`)) return null;
  const isScript = stem !== module;
  const endings = isScript
    ? ['.ts', '.tsx']
    : ['.ts', '.tsx', '.js', '.jsx', '/index.ts', '/index.tsx', '/index.js'];
  const found = endings.map((ending) => `${stem}${ending}`).filter(has);
  if (isScript && has(module)) found.push(module);
  return found.length === 1 ? (found[0] ?? null) : null;
}

export const escaped = (name: string): string => name.replaceAll('$', String.raw`\$`);

/** From where a file that does not declare a name may export it. */
function passedOn(
  held: Held,
  head: string,
): readonly { readonly from: string; readonly name: string }[] | 'unclear' {
  const { lists, stars } = held.passedOn();
  const named: { from: string; name: string }[] = [];
  for (const { names, from } of lists)
    for (const entry of names.split(',')) {
      const [name = '', as, other = name] = entry.trim().split(/\s+/);
      if (as !== undefined && as !== 'as') {
        if (entry.includes(head)) return 'unclear';
        continue;
      }
      if (other !== head) continue;
      if (from === undefined) return 'unclear';
      named.push({ from, name });
    }
  if (named.length > 0) return named.length === 1 ? named : 'unclear';
  if (stars.some(({ as }) => as?.includes(head))) return 'unclear';
  return stars.filter(({ as }) => as === undefined).map(({ from }) => ({ from, name: head }));
}

/** What declares a name at the top of a file. */
export interface Declaration {
  readonly kind: string;
  /** Where its line begins, and where the name is. */
  readonly from: number;
  readonly offset: number;
}

/** The only declaration of a name at the top of a file, which others must see if it is `exported`. */
export function declarationIn(
  held: Held,
  name: string,
  { exported }: { readonly exported: boolean },
): Declaration | 'unclear' | 'absent' {
  if (!held.regions()) return 'unclear';
  const declared = declarationsIn(held, name);
  const [only] = declared;
  if (!only) return 'absent';
  return declared.length > 1 || (exported && !only.exporting) ? 'unclear' : only;
}

/** All lines that declare a name, where they begin; of a file whose signs cannot be told apart those in comments too. */
export function declarationsIn(
  held: Held,
  name: string,
): readonly (Declaration & { readonly exporting: boolean })[] {
  const regions = held.regions();
  return offsetsOf(held.text, name).flatMap((offset) => {
    if (held.text[offset - 1] !== ' ' && held.text[offset - 1] !== '\t') return [];
    const from = lineNear(held.text, offset);
    const match = from === null ? null : DECLARES.exec(held.text.slice(from, offset));
    const isWhole = match && !NAME_PART.test(held.text[offset + name.length] ?? '');
    return isWhole && from !== null && !regions?.at(from)
      ? [{ kind: match[2] ?? '', from, offset, exporting: match[1] !== undefined }]
      : [];
  });
}

const DECLARES =
  /^(export\s+)?(?:default\s+|declare\s+|abstract\s+|async\s+|const\s+(?=enum))*(class|enum|namespace|module|interface|type|var|let|const|function\*?)[ \t]+$/;
const NAME_PART = /[\w$]/;
