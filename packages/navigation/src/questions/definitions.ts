import type { Definitions, FoundDefinition } from '@reveille/protocol';
import { languageOf, LANGUAGES, type Language } from '../languages.ts';
import type { ServerPlace, ServerSession } from '../lsp/session.ts';
import type { Look, TextHit } from '../text/known-tree.ts';
import type { Spot as TreeSpot } from '../text/spots.ts';
import { meaningIn, type Anchors } from './anchors.ts';
import { describe, isDeclaration } from './describe.ts';
import { EarlyAnswer } from './early-answer.ts';
import { hitsOf, inBatches, inside, isInside, keyOf, splitSymbol, type Inquiry } from './inquiry.ts';
import { MOST_DECLARING, MOST_PARSED, byDeclaration, likeliest, parsedDefinitions } from './parsed.ts';
import { AT_ONCE, MOST_SHOWN, followed, resolve, shown, unique } from './places.ts';
import { openFile, openProjects, projectFilesIn, untilStable } from './projects.ts';
import { unfollowed } from './unfollowed.ts';

export interface DefinitionsAsk {
  readonly symbol: string;
  readonly from?: string;
}

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
  const isKnown = inquiry.warmSession(asked.from)?.definitions.has(keyFor(asked)) === true;
  // Before the file is read. If anything turns out otherwise, it does not count.
  const early = isKnown ? null : EarlyAnswer.begin(inquiry, { ...asked, name: container ?? name });
  const { path: from, text: head } = await inquiry.head(asked.from);
  if (from === asked.from) early?.ask(head);
  const ask = { symbol: asked.symbol, from };
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
      complete: everywhere.complete && anchors.spots.length === 0,
      notes: [`${asked} ${why} ${ask.from}; these are all definitions of the name`, ...everywhere.notes],
    };
  }
  const found =
    container === null
      ? places
      : await followed(inquiry, session, await members(inquiry, places, { name, container }));
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
  const broken = (await Promise.all(here.map((place) => unfollowed(inquiry, place)))).some(Boolean);
  const answer = { definitions: await shown(inquiry, session, { places: found, name }), uncovered: [] };
  if (broken)
    return {
      ...answer,
      found: 'semantic',
      complete: false,
      notes: ['an import could not be followed: its package is not installed, or its path is wrong'],
    };
  const declared = answer.definitions.some(isDeclaration) ? [ONLY_DECLARED] : [];
  const notes = [...anchors.notes, ...declared];
  const whole: Definitions = { ...answer, found: 'semantic', complete: declared.length === 0, notes };
  return session.definitions.keep(keyFor(ask), version, whole);
}

const ONLY_DECLARED =
  'only a declaration was found: it is defined outside of the tree, or in a way that was not seen';

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
    meaningIn(inquiry, { path: from, name, known: known?.survey.uses }),
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
  if (found.length > 0 || (session.isOpen(from) && !session.busy)) return { anchors, found, version };
  // A file that belongs to no project is known to a server only while it is open; one that is loading may know it later.
  await openFile(inquiry, session, from);
  const spots = anchors.spots.map((spot) => ({ ...spot, path: from }));
  const { found: again } = await untilStable(session, {
    ask: () => resolve(session, spots),
    loadMs: inquiry.loadMs,
  });
  return { anchors, found: again, version };
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
  const linked = parsed.declared.length > 0 ? await byDeclaration(inquiry, session, parsed.found) : null;
  const seen = [...parsed.found, ...parsed.declared.filter((each) => !linked?.has(keyOf(each)))];
  const best = seen.length > 0 ? seen : parsed.locals;
  const isLocal = new Set(seen.length > 0 ? parsed.locals.map(keyOf) : []);
  const listed = container === null ? (await session.named(name)).filter(isInside) : [];
  // Some servers list where all of it begins, with the comment above it, and not where its name stands.
  const others = listed.filter(
    (each) =>
      !isLocal.has(keyOf(each)) &&
      !best.some(({ path, line }) => path === each.path && line >= each.line && line <= each.endLine),
  );
  // A name under which something is passed on is listed as well: it is followed to what it stands for.
  const really = inside(await followed(inquiry, session, others));
  const first = [...new Map([...best, ...really].map((each) => [keyOf(each), each])).values()];
  const merged =
    first.length > 0 ? first : await byUses(inquiry, session, hitsOf(look.hits, session.language));
  const isAlias = best.length === 0 && merged.length > 0;
  const other = await inOtherLanguages(inquiry, { look, name, container, language: session.language });
  const unlinked = linked && parsed.found.length > MOST_DECLARING ? [TOO_MANY] : [];
  const incomplete = [
    ...notLoaded,
    ...parsed.incomplete,
    ...unlinked,
    ...(look.why === null ? [] : [look.why]),
  ];
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

const TOO_MANY = `of more than ${MOST_DECLARING} definitions it was not asked which declaration is theirs`;

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
  const found = likeliest(
    await parsedDefinitions(inquiry, { hits, name, container, most: MOST_PARSED.text }),
  );
  return await inBatches(found.slice(0, MOST_SHOWN), 4, (place) => describe(inquiry, place, { name }));
}

async function byText(inquiry: Inquiry, ask: DefinitionsAsk): Promise<Definitions> {
  const { name, container } = splitSymbol(ask.symbol);
  const { hits, why } = await inquiry.look(name);
  const most = MOST_PARSED.text;
  const parsed = await parsedDefinitions(inquiry, { hits, name, container, most });
  const { incomplete } = parsed;
  const found = likeliest(parsed);
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
