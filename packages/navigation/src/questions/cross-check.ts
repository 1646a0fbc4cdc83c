import type { CodeLine, Uncovered } from '@reveille/protocol';
import { extensionOf, isMade, languageOf, type Language } from '../languages.ts';
import type { ServerSession } from '../lsp/session.ts';
import { isCommentLine } from '../syntax/comment-lines.ts';
import type { TextHit } from '../text/trees.ts';
import { inBatches, inside, keyOf, type Inquiry } from './inquiry.ts';
import { openFile } from './projects.ts';

/** Hits that are asked about one by one; what is beyond is said to be unchecked. */
const MOST_CHECKS = 2_000;
/** Characters that are parsed to tell comments and strings from code. */
const MOST_PARSED = 20_000_000;
const SHOWN = 5;

export interface CrossCheck {
  /** Hits that turned out to be uses that the server had not listed. */
  readonly uses: readonly CodeLine[];
  readonly uncovered: readonly Uncovered[];
  /** Some hit is neither a use nor explained. */
  readonly open: boolean;
}

/**
 * Every text hit that the server did not list must be explained: it is another symbol, a comment, a string, another language.
 * The server is asked what each of them is. One that leads to the very symbol was missed, and is a use; one that nobody
 * can explain makes the answer incomplete.
 */
export async function crossCheck(
  inquiry: Inquiry,
  session: ServerSession,
  given: {
    readonly hits: readonly TextHit[];
    /** The symbol's definitions and the uses that the server listed. */
    readonly covered: ReadonlySet<string>;
  },
): Promise<CrossCheck> {
  const { language } = session;
  const rest = given.hits.filter((hit) => !given.covered.has(keyOf(hit)));
  const own = rest
    .filter(({ path }) => languageOf(path) === language)
    .toSorted((a, b) => Number(isMade(a.path, language)) - Number(isMade(b.path, language)));
  const commented = await inBatches(own, 64, async (hit) =>
    isCommentLine(await inquiry.lines(hit.path), hit, language),
  );
  const code = own.filter((_, i) => !commented[i]);
  const checked = code.slice(0, MOST_CHECKS);
  const reasons = new Map<TextHit, string>(
    rest.filter(({ path }) => languageOf(path) !== language).map((hit) => [hit, foreign(hit)]),
  );
  for (const hit of code.slice(MOST_CHECKS)) reasons.set(hit, UNCHECKED);
  for (const [i, hit] of own.entries()) if (commented[i]) reasons.set(hit, COMMENT);
  const uses: CodeLine[] = [];
  const unknown: TextHit[] = [];
  const targets = await inBatches(checked, 16, (hit) => targetsOf(inquiry, session, hit));
  for (const [i, hit] of checked.entries()) {
    const found = targets[i] ?? [];
    // What is defined by a use of the symbol passes it on: `module.exports = { name }`.
    if (found.some((key) => given.covered.has(key))) uses.push(hit);
    else if (found.length > 0) reasons.set(hit, reasonOf(found[0] ?? ''));
    else unknown.push(hit);
  }
  for (const [hit, reason] of await roles(inquiry, unknown, language)) reasons.set(hit, reason);
  const uncovered = grouped(reasons);
  return {
    uses,
    uncovered,
    open: uncovered.some(({ reason }) => reason === UNKNOWN || reason === UNCHECKED),
  };
}

const COMMENT = 'in a comment';
const UNCHECKED = 'not checked: there are too many';
const UNKNOWN = 'the server does not know what it is';

async function targetsOf(inquiry: Inquiry, session: ServerSession, hit: TextHit): Promise<string[]> {
  if (session.language.opensAsked) await openFile(inquiry, session, hit.path);
  const found = await session.definition(hit);
  const within = inside(found).map(keyOf);
  const outside = found
    .filter(({ path }) => path === null)
    .map(({ file }) => `outside ${file.split('/').slice(-2).join('/')}`);
  return [...within, ...outside];
}

function reasonOf(target: string): string {
  // A path leads to the beginning of its file.
  if (target.endsWith(':1:1')) return `in the path of a module (${target.slice(0, -4)})`;
  return `another symbol of this name, defined at ${target.replace(/:\d+$/, '')}`;
}

function foreign({ path }: TextHit): string {
  const language = languageOf(path);
  return language
    ? `in ${language.name} files, which this server does not know`
    : `in files that are no code (${extensionOf(path) || path})`;
}

/** What the parser says of hits that the server says nothing about. */
async function roles(
  inquiry: Inquiry,
  hits: readonly TextHit[],
  language: Language,
): Promise<[TextHit, string][]> {
  const reasons: [TextHit, string][] = [];
  let chars = 0;
  for (const [path, within] of Map.groupBy(hits, (hit) => hit.path)) {
    const text = chars > MOST_PARSED ? null : ((await inquiry.text(path)) ?? '');
    const parsed = text === null ? null : await inquiry.syntax.roles(path, text, within);
    chars += text?.length ?? 0;
    for (const [i, hit] of within.entries())
      reasons.push([hit, text === null ? UNCHECKED : reasonFor(parsed?.[i], hit, language)]);
  }
  return reasons;
}

function reasonFor(role: string | undefined, { path }: TextHit, language: Language): string {
  if (role === 'comment') return COMMENT;
  if (role === 'string') return 'in a string';
  return isMade(path, language) ? 'in a folder of built files' : UNKNOWN;
}

export function grouped(reasons: ReadonlyMap<TextHit, string>): Uncovered[] {
  return [...Map.groupBy(reasons, ([, reason]) => reason)]
    .map(([reason, hits]) => ({
      reason,
      count: hits.length,
      places: hits.slice(0, SHOWN).map(([{ path, line, column, text }]) => ({ path, line, column, text })),
    }))
    .toSorted((a, b) => b.count - a.count);
}
