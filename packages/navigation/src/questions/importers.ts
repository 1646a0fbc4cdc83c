import { languageOf } from '../languages.ts';
import type { SyntaxImport } from '../syntax/modules.ts';
import type { TextHit } from '../text/known-tree.ts';
import type { Inquiry } from './inquiry.ts';
import { inBatches, keyOf } from './inquiry.ts';
import { importNames } from './module-file.ts';

/** Files that are parsed for what they import. */
const MOST_PARSED = 300;

/** An import that may be one of the file in question. */
export interface Candidate {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly written: SyntaxImport;
}

interface Candidates {
  readonly found: readonly Candidate[];
  readonly hits: readonly TextHit[];
  readonly incomplete: readonly string[];
}

/** Imports, anywhere in the tree, that hold one of the file's names. */
export async function importCandidates(inquiry: Inquiry, path: string): Promise<Candidates> {
  const names = await importNames(inquiry, path);
  const looks = await Promise.all(names.map((name) => inquiry.look(name, { explain: true })));
  const language = languageOf(path);
  const hits = looks
    .flatMap((look) => look.hits)
    .filter((hit) => languageOf(hit.path) === language && hit.path !== path && !hit.commented);
  const seen = language?.name === 'typescript' ? scriptImports(hits) : { found: [], unclear: hits };
  const files = [...new Set(seen.unclear.map((hit) => hit.path))];
  const parsed = await inBatches(files.slice(0, MOST_PARSED), 4, async (file) => {
    const syntax = await inquiry.syntax.module(file, (await inquiry.text(file)) ?? '');
    return (syntax?.imports ?? [])
      .filter((each) => holds(each, names))
      .map((written): Candidate => ({ path: file, line: written.line, column: written.column, written }));
  });
  const incomplete = [
    ...(files.length > MOST_PARSED
      ? [`only ${MOST_PARSED} of ${files.length} files that hold its name were looked into`]
      : []),
    ...looks.flatMap(({ why }) => (why === null ? [] : [why])),
  ];
  const all = [...seen.found, ...parsed.flat()].map((each) => [`${each.path}:${each.line}`, each] as const);
  return { found: [...new Map(all).values()], hits, incomplete };
}

const PATHS = /\b(?:from|import|require\s*\(|import\s*\()\s*(['"])([^'"]+)\1/g;

/**
 * In scripts a path stands behind its keyword on one line, whatever the import is: most are seen without parsing. Those
 * that are not whole on their line are left to the parser.
 */
function scriptImports(hits: readonly TextHit[]): {
  readonly found: readonly Candidate[];
  readonly unclear: readonly TextHit[];
} {
  // A string that begins its line may be the path of an import that began above.
  const unclear = hits.filter(
    ({ text, column }) => column > text.length || /^\s*['"][^'"]*$/.test(text.slice(0, column)),
  );
  const within = hits.flatMap((hit) => {
    const match = [...hit.text.matchAll(PATHS)].find(
      ({ index, 0: { length } }) => hit.column > index && hit.column <= index + length,
    );
    return match ? [{ hit, specifier: match[2] ?? '' }] : [];
  });
  const found = within.flatMap(({ hit, specifier }): Candidate[] => {
    const { path, line, column, explained } = hit;
    // In a comment, or in a string that only looks like code.
    if (explained.role === 'comment' || explained.role === 'string') return [];
    const written = { specifier, line, column, names: [], passesOn: false };
    return [{ path, line, column, written }];
  });
  const known = new Set(found.map(keyOf));
  return { found, unclear: unclear.filter((hit) => !known.has(keyOf(hit))) };
}

const holds = ({ specifier, names: imported }: SyntaxImport, names: readonly string[]): boolean =>
  names.some((name) => specifier.includes(name.replaceAll(/['"]/g, '')) || imported.includes(name));
