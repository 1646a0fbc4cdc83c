import { isMade, languageOf } from '../languages.ts';
import type { ServerSession, Spot } from '../lsp/session.ts';
import type { SyntaxDefinition } from '../syntax/definitions.ts';
import { isUse } from '../syntax/uses.ts';
import type { TextHit } from '../text/known-tree.ts';
import { hitsOf, inBatches, inside, keyOf, type Inquiry } from './inquiry.ts';
import { openFile } from './projects.ts';

/**
 * Characters that are parsed for one name: an answer from text is wanted at once, one of a server shall be complete. Counted, not
 * timed, so that the same question has the same answer on any machine; a second is worth some ten million.
 */
export const MOST_PARSED = { text: 2_000_000, semantic: 50_000_000 };

interface ParsedDefinitions {
  readonly found: readonly Spot[];
  /** What says that there is something, which is defined elsewhere. */
  readonly declared: readonly Spot[];
  /** Within functions. */
  readonly locals: readonly Spot[];
  readonly incomplete: readonly string[];
}

/** What the parser finds where the name stands. */
export async function parsedDefinitions(
  inquiry: Inquiry,
  { hits, name, container, most }: NameHits,
): Promise<ParsedDefinitions> {
  const likely = hits.filter((hit) => mayDefine(hit, name));
  const files = [...Map.groupBy(likely, ({ path }) => path)].toSorted(
    ([a, x], [b, y]) => likeness(b, y) - likeness(a, x),
  );
  const all: (Spot & Pick<SyntaxDefinition, 'local' | 'declaredOnly'>)[] = [];
  const unparsed: string[] = [];
  let parsed = 0;
  let chars = 0;
  for (const [path, within] of files) {
    if (chars > most) break;
    const text = (await inquiry.text(path)) ?? '';
    parsed += 1;
    chars += text.length;
    const defined = await inquiry.syntax.named(path, text, name);
    if (!defined) unparsed.push(path);
    const found = defined ?? within.filter((hit) => looksDefined(hit.text, name)).map(asDefinition);
    for (const each of found)
      if ((each.name ?? name) === name && (container === null || each.container === container))
        all.push({ ...each, path });
  }
  const seen = all.filter(({ local, declaredOnly }) => !local && !declaredOnly);
  const declared = all.filter(({ local, declaredOnly }) => !local && declaredOnly);
  const locals = all.filter(({ local }) => local);
  const left = files.slice(parsed).filter(([path, within]) => likeness(path, within) > 0).length;
  return {
    found: seen,
    declared,
    locals,
    incomplete: [
      ...(left > 0 ? [`${left} more files with lines that may define it were not looked into`] : []),
      ...(unparsed.length > 0 ? [`not parsed, so that lines alone tell: ${shortList(unparsed)}`] : []),
    ],
  };
}

/** What is only declared, or within a function, if there is nothing else. */
export const likeliest = ({ found, declared, locals }: ParsedDefinitions): readonly Spot[] =>
  [found, declared, locals].find((each) => each.length > 0) ?? [];

export const MOST_DECLARING = 100;

/** C: a server knows where the definition in a file is declared, and not always where something declared is defined. */
export async function byDeclaration(
  inquiry: Inquiry,
  session: ServerSession,
  defined: readonly Spot[],
): Promise<ReadonlyMap<string, readonly Spot[]>> {
  const pairs = await inBatches(defined.slice(0, MOST_DECLARING), 4, async (spot) => {
    await openFile(inquiry, session, spot.path);
    return inside(await session.definition(spot)).map((place) => [keyOf(place), spot] as const);
  });
  const groups = Map.groupBy(pairs.flat(), ([key]) => key);
  return new Map([...groups].map(([key, all]) => [key, all.map(([, spot]) => spot)]));
}

/** Where something that is only declared at a place is defined; there, if nowhere else. */
export async function definedFor(
  inquiry: Inquiry,
  session: ServerSession,
  { place, name }: { readonly place: Spot; readonly name: string },
): Promise<readonly Spot[]> {
  const { hits } = await inquiry.look(name);
  const asked = { hits: hitsOf(hits, session.language), name, container: null, most: MOST_PARSED.semantic };
  const { found } = await parsedDefinitions(inquiry, asked);
  return (await byDeclaration(inquiry, session, found)).get(keyOf(place)) ?? [place];
}

const shortList = (paths: readonly string[]): string =>
  paths.length > 3 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : paths.join(', ');

/** What is a comment or a use for certain need not be parsed: for common names that is nearly all of it. */
function mayDefine({ path, text, column, commented }: TextHit, name: string): boolean {
  if (commented) return false;
  const isWhole = column - 1 + name.length < text.length;
  return languageOf(path)?.name !== 'typescript' || !isWhole || !isUse(text, column, name);
}

interface NameHits {
  readonly hits: readonly TextHit[];
  readonly name: string;
  readonly container: string | null;
  /** Characters to parse; files whose lines look like definitions come first. */
  readonly most: number;
}

const asDefinition = ({ line, column }: TextHit) => ({
  line,
  column,
  name: null,
  container: null,
  local: false,
  declaredOnly: false,
});

/** Whether lines of a file look as if they defined something; built files come last. */
function likeness(path: string, hits: readonly TextHit[]): number {
  const language = languageOf(path);
  const defining = hits.filter(({ text }) => DEFINING.test(text)).length;
  return language && isMade(path, language) ? defining / 1_000 : defining;
}

const DEFINING =
  /\b(?:class|interface|type|enum|function|const|let|var|namespace|module|def|fn|func|struct|trait|impl|mod|static|record|object|protocol|macro_rules!|#define|public|private|protected|abstract|async|get|set)\b|^\s*[\w$]+\s*[(:=?]/;

/** Where there is no grammar: a word that defines, and then the name. */
function looksDefined(line: string, name: string): boolean {
  const at = line.indexOf(name);
  return DEFINING.test(line.slice(0, at));
}
