import { isBuiltin } from 'node:module';
import type { CodeLine, Uncovered } from '@reveille/protocol';
import { extensionOf, isMade, languageOf, type Language } from '../languages.ts';
import type { ServerSession, Spot } from '../lsp/session.ts';
import type { Role } from '../syntax/syntax.ts';
import { isUse } from '../syntax/uses.ts';
import type { Explained } from '../text/explain.ts';
import type { TextHit } from '../text/known-tree.ts';
import { inBatches, inside, keyOf, type Inquiry } from './inquiry.ts';
import { openFile } from './projects.ts';
import { parsedRoles, plainLine } from './roles.ts';
import { unfollowed } from './unfollowed.ts';

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

/** The places of the symbol's definitions, and of the uses that the server listed. */
type Covered = Pick<ReadonlySet<string>, 'has'>;

/** What hits lead to, by the server. Those of one group mean the same, so one of them is asked about, and once. */
export class Targets {
  readonly #inquiry: Inquiry;
  readonly #session: ServerSession;
  readonly #asked = new Map<string, Promise<readonly string[]>>();
  #foreseeing = true;

  constructor(inquiry: Inquiry, session: ServerSession) {
    this.#inquiry = inquiry;
    this.#session = session;
  }

  of(hit: TextHit, group: string): Promise<readonly string[]> {
    const known = this.#asked.get(group) ?? targetsOf(this.#inquiry, this.#session, hit);
    this.#asked.set(group, known);
    return known;
  }

  /**
   * While the server still lists the uses: a member of something else (`Other.name`), and what may define another of the name, is most
   * likely none of them, and will have to be asked about. So will what is imported from elsewhere: one of those that are imported from
   * a module says whether it is. What is not needed in the end is not looked at.
   */
  async foresee(
    hits: readonly TextHit[],
    { name, own }: { readonly name: string; readonly own: readonly Spot[] },
  ): Promise<void> {
    if (this.#session.language.opensAsked) return;
    const likely = likelyOthers(hitsToExplain(hits, this.#session.language), { name, own });
    const modules = [...Map.groupBy(likely.imported, ({ explained: { from } }) => from).values()].map(
      firstOfEach,
    );
    await this.#askAll([
      ...firstOfEach(likely.others),
      ...modules.flatMap(([first]) => (first ? [first] : [])),
    ]);
    const isOwn = new Set(own.map(keyOf));
    const elsewhere = await Promise.all(
      modules.map(async ([first, ...rest]) => {
        const found = (first && (await this.#asked.get(first[0]))) ?? null;
        return found?.some((key) => isOwn.has(key)) === false ? rest : [];
      }),
    );
    await this.#askAll(elsewhere.flat());
  }

  async #askAll(groups: readonly (readonly [string, TextHit])[]): Promise<void> {
    await inBatches(groups, AT_ONCE, async ([group, hit]) => {
      if (this.#foreseeing && this.#asked.size < MOST_FORESEEN) await this.of(hit, group);
    });
  }

  /** From now on it is known what must be asked. */
  known(): void {
    this.#foreseeing = false;
  }
}

/** Of each group the first: where its file imports it, most likely, which costs a server less than a call. */
const firstOfEach = (hits: readonly TextHit[]): (readonly [string, TextHit])[] =>
  [...Map.groupBy(hits, groupOf)].flatMap(([group, [first]]) => (first ? [[group, first] as const] : []));

/** Those of one group mean the same, whatever it is. */
const groupOf = (hit: TextHit): string => hit.explained.group ?? keyOf(hit);

/** Hits that are most likely no uses of what is defined in a file, and those that its text alone does not tell of. */
function likelyOthers(
  hits: readonly TextHit[],
  { name, own }: { readonly name: string; readonly own: readonly Spot[] },
): { readonly others: readonly TextHit[]; readonly imported: readonly TextHit[] } {
  const isOwn = new Set(own.map(({ path }) => path));
  const asked = hits.filter(({ explained: { role, target } }) => role === 'code' && target === undefined);
  // What a file binds anew, what follows there means.
  const bound = new Set(asked.filter(bindsAnew).map(({ path }) => path));
  const others: TextHit[] = [];
  const imported: TextHit[] = [];
  for (const hit of asked) {
    const isMember = hit.text[hit.column - 2] === '.';
    if (isMember || (!isOwn.has(hit.path) && bound.has(hit.path))) others.push(hit);
    else if (isOwn.has(hit.path)) continue;
    else if (hit.explained.from !== undefined) imported.push(hit);
    else if (isLikelyOther(hit, name)) others.push(hit);
  }
  return { others, imported };
}

/** A variable within something: `const { name } = await import('./other')`. */
const bindsAnew = ({ text, column, explained: { group } }: TextHit): boolean =>
  group === null && /^\s+(?:const|let|var)\s+(?:[{[][^=]*|[\w$,\s]*)$/.test(text.slice(0, column - 1));

/** A call that fills its line is most likely a use. */
const isLikelyOther = ({ text, column }: TextHit, name: string): boolean =>
  !isUse(text, column, name) &&
  !(text.slice(0, column - 1).trim() === '' && /^\(.*\);?$/.test(text.slice(column - 1 + name.length)));

const MOST_FORESEEN = 300;
/** Questions in the server's line at once. */
const AT_ONCE = 32;

/**
 * Every text hit that the server did not list must be explained: it is another symbol, a comment, a string, another language.
 * The server is asked what each of them is. One that leads to the very symbol was missed, and is a use; one that nobody
 * can explain makes the answer incomplete.
 */
export async function crossCheck(
  inquiry: Inquiry,
  session: ServerSession,
  given: {
    /** By their places. */
    readonly hits: ReadonlyMap<string, TextHit>;
    readonly covered: Covered;
    readonly targets: Targets;
  },
): Promise<CrossCheck> {
  const { language } = session;
  const rest = [...given.hits].filter(([key]) => !given.covered.has(key)).map(([, hit]) => hit);
  const reasons = new Map<TextHit, string>(
    rest.filter(({ path }) => languageOf(path) !== language).map((hit) => [hit, foreign(hit)]),
  );
  const own = rest.filter((hit) => !reasons.has(hit));
  for (const hit of own) if (hit.commented) reasons.set(hit, COMMENT);
  const written = own.filter(({ commented }) => !commented);
  const code: Asked[] = [];
  for (const hit of written) {
    const { role, target } = hit.explained;
    if (role === 'comment' || role === 'string') reasons.set(hit, REASONS[role]);
    else if (target !== undefined && !given.covered.has(target))
      reasons.set(hit, reasonOf(target, given.hits));
    else code.push({ hit, role, group: groupOf(hit) });
  }

  const found = await resolved(inquiry, session, { ...given, code });
  for (const [hit, reason] of found.reasons) reasons.set(hit, reason);

  const uncovered = grouped(reasons);
  return {
    uses: found.uses.map(plainLine),
    uncovered,
    open: uncovered.some(({ reason }) => reason === UNKNOWN || reason === UNCHECKED || isUnfollowed(reason)),
  };
}

interface Asked {
  readonly hit: TextHit;
  readonly role: Explained['role'];
  readonly group: string;
}

/** What the server says that the hits are; one is asked about for all of its group. */
async function resolved(
  inquiry: Inquiry,
  session: ServerSession,
  given: {
    readonly code: readonly Asked[];
    readonly hits: ReadonlyMap<string, TextHit>;
    readonly covered: Covered;
    readonly targets: Targets;
  },
): Promise<{ readonly uses: readonly TextHit[]; readonly reasons: ReadonlyMap<TextHit, string> }> {
  const { language } = session;
  const { code, covered, hits } = given;
  const groups = [...Map.groupBy(code, ({ group }) => group).values()].toSorted(
    ([a], [b]) => Number(isMade(a?.hit.path ?? '', language)) - Number(isMade(b?.hit.path ?? '', language)),
  );
  const checked = groups.slice(0, MOST_CHECKS);
  const reasons = new Map<TextHit, string>();
  for (const { hit } of groups.slice(MOST_CHECKS).flat()) reasons.set(hit, UNCHECKED);
  const uses: TextHit[] = [];
  const unknown: Asked[] = [];
  const targets = await inBatches(checked, AT_ONCE, async ([first]) =>
    first ? await given.targets.of(first.hit, first.group) : [],
  );
  for (const [i, group] of checked.entries()) {
    const found = targets[i] ?? [];
    // What is defined by a use of the symbol passes it on: `module.exports = { name }`.
    if (found.some((key) => covered.has(key))) uses.push(...group.map(({ hit }) => hit));
    else if (found.length === 0) unknown.push(...group);
    else {
      const reason = await reasonFrom(inquiry, found[0] ?? '', hits);
      for (const { hit } of group) reasons.set(hit, reason);
    }
  }
  const parsed = await parsedRoles(inquiry, unknown, MOST_PARSED);
  for (const { hit } of unknown) reasons.set(hit, reasonFor(parsed.told.get(hit), hit, language));
  return { uses, reasons };
}

const COMMENT = 'in a comment';
const REASONS = { comment: COMMENT, string: 'in a string' } as const;
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

/** What a server cannot follow leads to an import, of whatever file of the group was asked about: then nobody knows what it is. */
async function reasonFrom(
  inquiry: Inquiry,
  target: string,
  hits: ReadonlyMap<string, TextHit>,
): Promise<string> {
  const at = hits.get(target);
  const module = at ? await unfollowed(inquiry, at) : null;
  if (module === null) return reasonOf(target, hits);
  // What comes with Node is nobody's of this tree, whether its types are installed or not.
  return isBuiltin(module) ? `imported from ${module}` : `${UNFOLLOWED}${module}`;
}

const UNFOLLOWED = 'imported from what the server could not follow, or does not have: ';
const isUnfollowed = (reason: string): boolean => reason.startsWith(UNFOLLOWED);

function reasonOf(target: string, hits: ReadonlyMap<string, TextHit>): string {
  // A path leads to the beginning of its file, unless the name stands there.
  if (target.endsWith(':1:1') && !hits.has(target)) return `in the path of a module (${target.slice(0, -4)})`;
  return `another symbol of this name, defined at ${target.replace(/:\d+$/, '')}`;
}

function foreign({ path }: TextHit): string {
  const language = languageOf(path);
  return language
    ? `in ${language.name} files, which this server does not know`
    : `in files that are no code (${extensionOf(path) || path})`;
}

function reasonFor(role: Role | undefined, { path }: TextHit, language: Language): string {
  if (role === 'comment' || role === 'string') return REASONS[role];
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

/** Those that are not known to be comments, in files that a server of this language knows. */
export const hitsToExplain = (hits: readonly TextHit[], language: Language): TextHit[] =>
  hits.filter(({ path, commented }) => !commented && languageOf(path) === language);
