import type { Definitions, FoundDefinition } from '@reveille/protocol';
import { isMade, languageOf, LANGUAGES, type Language } from '../languages.ts';
import type { ServerPlace, ServerSession, Spot } from '../lsp/session.ts';
import { isUse } from '../syntax/uses.ts';
import type { Look, TextHit } from '../text/known-tree.ts';
import type { Spot as TreeSpot } from '../text/spots.ts';
import { anchorsIn, type Anchors } from './anchors.ts';
import { describe } from './describe.ts';
import { EarlyAnswer } from './early-answer.ts';
import { hitsOf, inBatches, inside, keyOf, splitSymbol, type Inquiry } from './inquiry.ts';
import { AT_ONCE, MOST_SHOWN, followed, resolve, shown, unique } from './places.ts';
import { openFile, openProjects, projectFilesIn } from './projects.ts';

export interface DefinitionsAsk {
  readonly symbol: string;
  readonly from?: string;
}

/**
 * Characters that are parsed for one name: an answer from text is wanted at once, one of a server shall be complete. Counted, not
 * timed, so that the same question has the same answer on any machine; a second is worth some ten million.
 */
const MOST_PARSED = { text: 2_000_000, semantic: 50_000_000 };

export async function definitions(inquiry: Inquiry, asked: DefinitionsAsk): Promise<Definitions> {
  const { symbol, from } = asked;
  if (from !== undefined) return await definitionsFrom(inquiry, { symbol, from });
  const { name } = splitSymbol(symbol);
  return await inquiry.answer(await mainLanguage(inquiry, name), {
    byText: async () => await byText(inquiry, asked),
    byServer: async (session) =>
      await byServer(inquiry, session, { ask: asked, look: await inquiry.bringUp(session, name) }),
  });
}

async function definitionsFrom(inquiry: Inquiry, asked: Required<DefinitionsAsk>): Promise<Definitions> {
  const { name, container } = splitSymbol(asked.symbol);
  const { path: from, text: head } = await inquiry.head(asked.from);
  const ask = { symbol: asked.symbol, from };
  const isKnown = inquiry.warmSession(from)?.definitions.has(keyFor(ask)) === true;
  // While the disk is looked at. If anything turns out otherwise, it does not count.
  const early = isKnown ? null : EarlyAnswer.begin(inquiry, { ...ask, name: container ?? name, head });
  return await inquiry.answer(languageOf(ask.from), {
    byText: async () => await byText(inquiry, ask),
    byServer: async (session) =>
      (await knownFrom(inquiry, session, ask)) ?? (await fromFile(inquiry, session, { ...ask, early })),
  });
}

const keyFor = ({ symbol, from }: Required<DefinitionsAsk>): string => `${from}\0${symbol}`;

/** The same question again, if nothing has changed on disk since. */
async function knownFrom(
  inquiry: Inquiry,
  session: ServerSession,
  ask: Required<DefinitionsAsk>,
): Promise<Definitions | null> {
  const key = keyFor(ask);
  if (!session.definitions.has(key)) return null;
  await inquiry.bringUp(session);
  return session.definitions.get(key, session.version);
}

/** The language in which the name stands most often. */
async function mainLanguage(inquiry: Inquiry, name: string): Promise<Language | null> {
  const { hits } = await inquiry.look(name);
  const counts = LANGUAGES.map((language) => ({ language, count: hitsOf(hits, language).length }));
  const [most] = counts.toSorted((a, b) => b.count - a.count);
  return most && most.count > 0 ? most.language : null;
}

/** Through the imports of a file: what the name means there. */
async function fromFile(
  inquiry: Inquiry,
  session: ServerSession,
  ask: DefinitionsAsk & { readonly from: string; readonly early: EarlyAnswer | null },
): Promise<Definitions> {
  const { name, container } = splitSymbol(ask.symbol);
  // `Class.method` is found in the class: what the class is, its file says.
  const asked = container ?? name;
  const { anchors, found: resolved, version } = await resolvedFrom(inquiry, session, { ...ask, name: asked });
  const places = await followed(inquiry, session, resolved);
  if (places.length === 0) {
    const everywhere = await byServer(inquiry, session, { ask, look: await inquiry.look(name) });
    const why = anchors.spots.length === 0 ? 'is not used in' : 'could not be resolved from';
    return {
      ...everywhere,
      notes: [`${asked} ${why} ${ask.from}; these are all definitions of the name`, ...everywhere.notes],
    };
  }
  const found = container === null ? places : await members(inquiry, places, { name, container });
  if (found.length === 0) {
    const everywhere = await byServer(inquiry, session, { ask, look: await inquiry.look(name) });
    return {
      ...everywhere,
      notes: [`${container ?? ''} has no member ${name} of its own`, ...everywhere.notes],
    };
  }
  const [first] = inside(found);
  // Where the next one who asks for it will most likely be led to, if the server must be asked what to show there.
  if (first && !(await inquiry.placeText(first)).declared?.shown) session.defined(ask.symbol, first);
  // What leads to the import itself leads nowhere.
  const here = inside(found).filter(({ path }) => path === ask.from);
  const lines = await Promise.all(here.map(({ path, line }) => inquiry.lineAt(path, line)));
  const broken = lines.filter((line) =>
    /^\s*(?:import|from)\b|^\s*export\b.*\bfrom\b|\brequire\(/.test(line),
  );
  const answer = { definitions: await shown(inquiry, session, { places: found, name }), uncovered: [] };
  if (broken.length > 0)
    return {
      ...answer,
      found: 'semantic',
      complete: false,
      notes: ['an import could not be followed: its package is not installed, or its path is wrong'],
    };
  const whole: Definitions = { ...answer, found: 'semantic', complete: true, notes: anchors.notes };
  return session.definitions.keep(keyFor(ask), version, whole);
}

/** What a name means in a file, by all places where it may mean something else. */
async function resolvedFrom(
  inquiry: Inquiry,
  session: ServerSession,
  { from, name, early }: { readonly from: string; readonly name: string; readonly early: EarlyAnswer | null },
): Promise<{
  readonly anchors: Anchors;
  readonly found: readonly ServerPlace[];
  /** Of the tree, as the server was told of it before it was asked. */
  readonly version: number;
}> {
  const known = (await early?.of(session, from)) ?? null;
  if (!known) inquiry.forgetEarly();
  const [{ version }, anchors] = await Promise.all([
    known ? inquiry.tell(session, known.survey.look) : inquiry.bringUp(session),
    anchorsIn(inquiry, from, name, known?.survey.uses),
    projectFilesIn(inquiry, session.language),
  ]);
  await openProjects(inquiry, session, { hits: [], file: from });
  const before = known && session.told === known.told ? known.answer : null;
  if (!before) inquiry.forgetEarly();
  const ask = async (spot: TreeSpot): Promise<readonly ServerPlace[]> =>
    before && spot.line === before.spot.line && spot.column === before.spot.column
      ? await before.places
      : await session.definition({ ...spot, path: from });
  const found = unique((await inBatches(anchors.spots, AT_ONCE, ask)).flat());
  if (found.length > 0 || session.isOpen(from)) return { anchors, found, version };
  // A file that belongs to no project is known to a server only while it is open.
  await openFile(inquiry, session, from);
  const spots = anchors.spots.map((spot) => ({ ...spot, path: from }));
  return { anchors, found: await resolve(session, spots), version };
}

async function members(
  inquiry: Inquiry,
  places: readonly ServerPlace[],
  { name, container }: { readonly name: string; readonly container: string },
): Promise<ServerPlace[]> {
  const files = [...new Set(inside(places).map(({ path }) => path))];
  const found = await inBatches(files, 4, async (path) => {
    const all = (await inquiry.syntax.definitions(path, (await inquiry.text(path)) ?? '')) ?? [];
    const owners = new Set(
      all
        .filter((each) => places.some((place) => place.path === path && place.line === each.line))
        .map((each) => each.name),
    );
    return all
      .filter(
        (each) =>
          each.name === name &&
          each.container !== null &&
          (each.container === container || owners.has(each.container)),
      )
      .map(({ line, column }): ServerPlace => ({ path, file: path, line, column }));
  });
  return found.flat();
}

/** All definitions of a name: those the parser finds where the name stands, and those the server lists. */
async function byServer(
  inquiry: Inquiry,
  session: ServerSession,
  { ask, look }: { readonly ask: DefinitionsAsk; readonly look: Look },
): Promise<Definitions> {
  const { name, container } = splitSymbol(ask.symbol);
  const notLoaded = await openProjects(inquiry, session, { hits: look.hits, file: null });
  const parsed = await parsedDefinitions(inquiry, {
    hits: hitsOf(look.hits, session.language),
    name,
    container,
    most: MOST_PARSED.semantic,
  });
  const isLocal = new Set(parsed.locals.map(keyOf));
  const listed = container === null ? inside(await session.named(name)) : [];
  const others = listed.filter((each) => !isLocal.has(keyOf(each)));
  // A name under which something is passed on is listed as well: it is followed to what it stands for.
  const really = inside(await followed(inquiry, session, others));
  const first = [...new Map([...parsed.found, ...really].map((each) => [keyOf(each), each])).values()];
  const merged =
    first.length > 0 ? first : await byUses(inquiry, session, hitsOf(look.hits, session.language));
  const isAlias = parsed.found.length === 0 && merged.length > 0;
  const other = await inOtherLanguages(inquiry, { look, name, container, language: session.language });
  const incomplete = [...notLoaded, ...parsed.incomplete, ...(look.why === null ? [] : [look.why])];
  const described = await shown(inquiry, session, { places: merged, name });
  const alias = isAlias
    ? [`${name} is another name for this, or not defined in a way that can be parsed`]
    : [];
  const more =
    merged.length > MOST_SHOWN
      ? [`only ${MOST_SHOWN} of ${merged.length} are shown; give fromFile, or Container.${name}`]
      : [];
  return {
    definitions: [...described, ...other],
    found: 'semantic',
    complete: incomplete.length === 0 && more.length === 0,
    notes: [
      ...alias,
      ...(other.length > 0 ? ['definitions in other languages were found by text'] : []),
      ...more,
      ...incomplete,
    ],
    uncovered: [],
  };
}

/** Nothing defines the name: what do its uses lead to? */
async function byUses(
  inquiry: Inquiry,
  session: ServerSession,
  hits: readonly TextHit[],
): Promise<ServerPlace[]> {
  const perFile = [...Map.groupBy(hits, ({ path }) => path).values()]
    .flatMap((within) => within.slice(0, 3))
    .slice(0, 30);
  if (session.language.opensAsked) for (const { path } of perFile) await openFile(inquiry, session, path);
  return await resolve(session, perFile);
}

async function inOtherLanguages(
  inquiry: Inquiry,
  {
    look,
    name,
    container,
    language,
  }: { look: Look; name: string; container: string | null; language: Language },
): Promise<FoundDefinition[]> {
  const hits = look.hits.filter(({ path }) => languageOf(path) !== null && languageOf(path) !== language);
  const { found } = await parsedDefinitions(inquiry, { hits, name, container, most: MOST_PARSED.text });
  return await inBatches(found.slice(0, MOST_SHOWN), 4, (place) => describe(inquiry, place, { name }));
}

/** What the parser finds; local variables only if there is nothing else. */
async function parsedDefinitions(
  inquiry: Inquiry,
  { hits, name, container, most }: NameHits,
): Promise<{
  readonly found: readonly Spot[];
  readonly locals: readonly Spot[];
  readonly incomplete: readonly string[];
}> {
  const likely = hits.filter((hit) => mayDefine(hit, name));
  const files = [...Map.groupBy(likely, ({ path }) => path)].toSorted(
    ([a, x], [b, y]) => likeness(b, y) - likeness(a, x),
  );
  const all: (Spot & { readonly local: boolean })[] = [];
  let parsed = 0;
  let chars = 0;
  for (const [path, within] of files) {
    if (chars > most) break;
    const text = (await inquiry.text(path)) ?? '';
    parsed += 1;
    chars += text.length;
    const defined = await inquiry.syntax.named(path, text, name);
    const found = defined ?? within.filter((hit) => looksDefined(hit.text, name)).map(asDefinition);
    for (const each of found)
      if ((each.name ?? name) === name && (container === null || each.container === container))
        all.push({ path, line: each.line, column: each.column, local: each.local });
  }
  const seen = all.filter(({ local }) => !local);
  const left = files.slice(parsed).filter(([path, within]) => likeness(path, within) > 0).length;
  return {
    found: seen.length > 0 ? seen : all,
    locals: seen.length > 0 ? all.filter(({ local }) => local) : [],
    incomplete: left > 0 ? [`${left} more files with lines that may define it were not looked into`] : [],
  };
}

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

const asDefinition = (hit: TextHit) => ({ ...hit, name: null, container: null, local: false });

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

async function byText(inquiry: Inquiry, ask: DefinitionsAsk): Promise<Definitions> {
  const { name, container } = splitSymbol(ask.symbol);
  const { hits, why } = await inquiry.look(name);
  const most = MOST_PARSED.text;
  const { found, incomplete } = await parsedDefinitions(inquiry, { hits, name, container, most });
  const near = found.toSorted((a, b) => Number(b.path === ask.from) - Number(a.path === ask.from));
  const all = await inBatches(near.slice(0, MOST_SHOWN), 4, (place) => describe(inquiry, place, { name }));
  const more = found.length > MOST_SHOWN ? [`only ${MOST_SHOWN} of ${found.length} are shown`] : [];
  return {
    definitions: all,
    found: 'text',
    complete: false,
    notes: [
      ask.from === undefined
        ? 'these are the definitions that parsing finds; names that are made in other ways are not among them'
        : `these are all definitions of the name; which of them ${ask.from} means was not resolved`,
      ...more,
      ...incomplete,
      ...(why === null ? [] : [why]),
    ],
    uncovered: [],
  };
}
