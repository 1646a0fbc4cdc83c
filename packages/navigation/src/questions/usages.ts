import { ReveilleError, type CodeLine, type CodePlace, type Usages } from '@reveille/protocol';
import { languageOf } from '../languages.ts';
import type { ServerPlace, ServerSession } from '../lsp/session.ts';
import type { Look, TextHit } from '../text/known-tree.ts';
import type { Spot } from '../text/spots.ts';
import { anchorsIn, guessedSpots, type Anchors } from './anchors.ts';
import { Targets, crossCheck, grouped } from './cross-check.ts';
import { plainLine, rolesOf } from './roles.ts';
import { inBatches, inside, isNothing, keyOf, splitSymbol, type Inquiry } from './inquiry.ts';
import { importNames } from './module-file.ts';
import { openProjects, projectFilesIn, untilSettled, type Stable } from './projects.ts';

export interface UsagesAsk {
  readonly symbol: string;
  readonly file: string;
}

export async function usages(inquiry: Inquiry, asked: UsagesAsk): Promise<Usages> {
  const isCold = inquiry.waits && !inquiry.isWarm(languageOf(asked.file));
  if (isCold) inquiry.begin();
  const ask = { symbol: asked.symbol, file: await inquiry.file(asked.file) };
  const language = languageOf(ask.file);
  const isSoon = inquiry.waits || inquiry.isWarm(language);
  const { name } = splitSymbol(ask.symbol);
  // The disk is looked at while the file is parsed, or while a server starts, which needs to know what is there first.
  if (language && !isSoon) {
    inquiry.look(name, { explain: true }).catch(() => undefined);
    inquiry.syntax.begin();
  }
  const text = (await inquiry.text(ask.file)) ?? '';
  const guess = guessedSpots(text, ask.symbol);
  const known = isSoon && guess.length > 0 ? null : await usageAnchors(inquiry, ask, guess);
  const anchors = async (): Promise<UsageAnchors> => known ?? (await usageAnchors(inquiry, ask, guess));
  return await inquiry.answer(language, {
    byText: async () => await usagesByText(inquiry, ask, await anchors()),
    byServer: (session) =>
      usagesByServer(inquiry, session, { ask, guess: known ? askedSpots(known) : guess, anchors }),
  });
}

type UsageAnchors = Pick<Anchors, 'spots' | 'notes'> & { readonly definitions: readonly Spot[] };

async function usageAnchors(
  inquiry: Inquiry,
  { symbol, file }: UsagesAsk,
  guess: readonly Spot[],
): Promise<UsageAnchors> {
  const { name } = splitSymbol(symbol);
  if (await inquiry.definesOnly(file, { name, guess }))
    return { spots: guess, definitions: guess, notes: [] };
  const anchors = await anchorsIn(inquiry, file, symbol);
  if (anchors.spots.length > 0) return anchors;
  throw new ReveilleError(
    'not_found',
    `${symbol} is not in ${file}. navigate_to_symbol finds where it is defined.`,
  );
}

/** Where a server is asked: all that define the name, or else the first that uses it. */
const askedSpots = ({ definitions, spots }: UsageAnchors): readonly Spot[] =>
  definitions.length > 0 ? spots : spots.slice(0, 1);

interface ServerAsk {
  readonly ask: UsagesAsk;
  /** Where it is most likely defined: asked about at once. */
  readonly guess: readonly Spot[];
  readonly anchors: () => Promise<UsageAnchors>;
}

async function usagesByServer(
  inquiry: Inquiry,
  session: ServerSession,
  { ask, guess, anchors: parsed }: ServerAsk,
): Promise<Usages> {
  const key = `usages\0${ask.file}\0${ask.symbol}`;
  // The next page of an answer is the same question again.
  if (session.usages.has(key)) {
    await inquiry.bringUp(session);
    const same = session.usages.get(key, session.version);
    if (same) return same;
  }
  const { name } = splitSymbol(ask.symbol);
  const wasSettled = session.settled;
  if (!wasSettled) await beginProject(inquiry, session, ask.file);
  // While the disk is looked at, and the file is parsed. If anything turns out otherwise, it does not count.
  const { told } = session;
  const early = guess.length > 0 ? listed(session, ask.file, guess) : null;
  early?.catch(() => undefined);
  const looking = inquiry.bringUp(session, name);
  const foreseen = new Targets(inquiry, session);
  const own = guess.map(({ line, column }) => ({ path: ask.file, line, column }));
  if (wasSettled) looking.then(({ hits }) => foreseen.foresee(hits, { name, own })).catch(() => undefined);
  const [look, anchors] = await Promise.all([looking, parsed(), projectFilesIn(inquiry, session.language)]);

  // Whatever can be done before the server answers is done.
  const hits = new Map(sorted(look.hits).map((hit) => [keyOf(hit), hit]));
  const spots = askedSpots(anchors);
  const notLoaded = await openProjects(inquiry, session, { hits: look.hits, file: ask.file });
  const isSame = isNothing(look.changes) && session.told === told && sameSpots(spots, guess);
  const before = early && isSame ? await early : null;
  const askAll = (): Promise<ServerPlace[]> => placesOf(session, ask.file, spots);
  const first =
    before && wasSettled
      ? { ...before, stable: true }
      : {
          ...(await untilSettled(session, { ask: askAll, first: before?.found, loadMs: inquiry.loadMs })),
          declared: before?.declared ?? (await declaredAt(session, ask.file, spots)),
        };
  foreseen.known();
  // What was asked before anything changed does not count either.
  const targets = isSame ? foreseen : new Targets(inquiry, session);
  const answer = await explained(inquiry, session, { ask, anchors, look, hits, first, notLoaded, targets });
  // What was not complete while a project was being loaded may be so next time.
  return answer.complete || wasSettled ? session.usages.keep(key, look.version, answer) : answer;
}

/** A server that knows nothing yet loads the project of the file while the tree is looked through. */
async function beginProject(inquiry: Inquiry, session: ServerSession, file: string): Promise<void> {
  if (!(await inquiry.before(session))) await inquiry.bringUp(session);
  await openProjects(inquiry, session, { hits: [], file });
}

interface Listed {
  readonly found: readonly ServerPlace[];
  /** Where the server says that the symbol is defined. */
  readonly declared: readonly ServerPlace[];
}

async function listed(session: ServerSession, file: string, spots: readonly Spot[]): Promise<Listed> {
  const [found, declared] = await Promise.all([
    placesOf(session, file, spots),
    declaredAt(session, file, spots),
  ]);
  return { found, declared };
}

const placesOf = async (
  session: ServerSession,
  path: string,
  spots: readonly Spot[],
): Promise<ServerPlace[]> =>
  (await Promise.all(spots.map(({ line, column }) => session.references({ path, line, column })))).flat();

const declaredAt = async (
  session: ServerSession,
  path: string,
  spots: readonly Spot[],
): Promise<ServerPlace[]> =>
  (await Promise.all(spots.map(({ line, column }) => session.definition({ path, line, column })))).flat();

const sameSpots = (some: readonly Spot[], others: readonly Spot[]): boolean =>
  some.length === others.length &&
  some.every(({ line, column }, i) => line === others[i]?.line && column === others[i].column);

/** What the server listed, with every other text hit accounted for. */
async function explained(
  inquiry: Inquiry,
  session: ServerSession,
  given: {
    readonly ask: UsagesAsk;
    readonly anchors: UsageAnchors;
    readonly look: Look;
    /** By their places, in the order in which they are shown. */
    readonly hits: ReadonlyMap<string, TextHit>;
    readonly first: Listed & Stable<ServerPlace>;
    readonly notLoaded: readonly string[];
    readonly targets: Targets;
  },
): Promise<Usages> {
  const { ask, anchors, look, hits, first, notLoaded, targets } = given;
  const spots = askedSpots(anchors);
  const { found, stable } = await underOtherNames(inquiry, session, {
    name: splitSymbol(ask.symbol).name,
    hits,
    first,
    askAll: () => placesOf(session, ask.file, spots),
  });
  const declared = inside(first.declared);
  if (declared[0]) session.defined(ask.symbol, declared[0]);
  // Some servers leave out what they say elsewhere that defines it.
  const listed = inside(found);
  const refs = new Map(
    [...(session.language.listsByName ? [] : listed), ...declared].map((place) => [keyOf(place), place]),
  );
  const defined = new Set([
    ...declared.map(keyOf),
    ...(anchors.definitions.length > 0 ? spots.map((spot) => keyOf({ path: ask.file, ...spot })) : []),
  ]);

  const covered = { has: (key: string) => refs.has(key) || defined.has(key) };
  const check = await crossCheck(inquiry, session, { hits, covered, targets });

  const shown = await linesOf(inquiry, { refs, hits, more: check.uses });
  const incomplete = [
    ...notLoaded,
    ...(stable ? [] : ['the server is still loading the project: uses under other names may be missing']),
    ...(look.why === null ? [] : [look.why]),
    ...(check.open ? ['some text hits could not be explained; they are listed'] : []),
    ...(listed.length === 0 ? ['the server found nothing at this place'] : []),
  ];
  return {
    definitions: shown.filter(([key]) => defined.has(key)).map(([, line]) => line),
    usages: shown.filter(([key]) => !defined.has(key)).map(([, line]) => line),
    found: 'semantic',
    complete: incomplete.length === 0,
    notes: [...anchors.notes, ...incomplete],
    uncovered: check.uncovered,
  };
}

const MOST_ROUNDS = 4;

/**
 * A project may use the symbol under another name only, and then no text hit of the name tells of it: `import any from` of
 * a default export, `import { name as other }`. So the other names, and whoever imports a file with a default export of it,
 * are looked for too, and their projects are loaded.
 */
async function underOtherNames(
  inquiry: Inquiry,
  session: ServerSession,
  asked: {
    readonly name: string;
    /** The text hits of the name. */
    readonly hits: ReadonlyMap<string, TextHit>;
    readonly first: Stable<ServerPlace>;
    readonly askAll: () => Promise<ServerPlace[]>;
  },
): Promise<Stable<ServerPlace>> {
  const { projectFiles } = session.language;
  const projects = await projectFilesIn(inquiry, session.language);
  // The server knows all of a single project, and of a language without projects.
  const isOne = projectFiles.length === 0 || (projects.length === 1 && !projects[0]?.includes('/'));
  let listed = asked.first;
  if (isOne) return listed;
  const known = new Set([asked.name]);
  for (let i = 0; i < MOST_ROUNDS; i++) {
    const others = (await otherNames(inquiry, listed.found, asked.hits)).filter((name) => !known.has(name));
    if (others.length === 0) return listed;
    for (const other of others) known.add(other);
    const looks = await Promise.all(others.map((other) => inquiry.look(other)));
    await openProjects(inquiry, session, { hits: looks.flatMap((look) => look.hits), file: null });
    // Nothing was opened: the server knew of all of them.
    if (session.settled) return listed;
    listed = await untilSettled(session, { ask: asked.askAll, loadMs: inquiry.loadMs });
  }
  return listed;
}

async function otherNames(
  inquiry: Inquiry,
  found: readonly ServerPlace[],
  hits: ReadonlyMap<string, TextHit>,
): Promise<string[]> {
  const names = await inBatches(inside(found), 64, async ({ path, line, column }) => {
    const hit = hits.get(keyOf({ path, line, column }));
    const text = hit?.text ?? (await inquiry.lineAt(path, line));
    const word = /^[\p{L}\p{N}_$]+/u.exec(text.slice(column - 1))?.[0] ?? '';
    const isDefault = word === 'default' || /\bexport\s+default\b|\bmodule\.exports\s*=/.test(text);
    return isDefault ? { word: '', path } : { word, path: null };
  });
  const files = [...new Set(names.flatMap(({ path }) => (path === null ? [] : [path])))];
  const imported = await inBatches(files, 4, (path) => importNames(inquiry, path));
  return [...new Set([...names.map(({ word }) => word), ...imported.flat()])].filter((word) => word !== '');
}

/** Places with their lines, in order. Most were found as text hits, with theirs, and in order. */
async function linesOf(
  inquiry: Inquiry,
  given: {
    readonly refs: ReadonlyMap<string, CodePlace>;
    readonly hits: ReadonlyMap<string, TextHit>;
    readonly more: readonly CodeLine[];
  },
): Promise<(readonly [string, CodeLine])[]> {
  const { refs, hits, more } = given;
  const listed = [...hits]
    .filter(([key]) => refs.has(key))
    .map(([key, hit]) => [key, plainLine(hit)] as const);
  const others =
    listed.length < refs.size ? [...refs].flatMap(([key, place]) => (hits.has(key) ? [] : [place])) : [];
  const there = await inBatches(others, 64, async (place) =>
    (await isThere(inquiry, place)) ? [place] : [],
  );
  const read = await inBatches(there.flat(), 64, (place) => inquiry.withLine(place));
  if (read.length + more.length === 0) return listed;
  return sorted([...listed.map(([, line]) => line), ...read, ...more]).map(
    (line) => [keyOf(line), line] as const,
  );
}

/** Some servers list for a moment what stood in a file before it was written: nothing is behind the end of a line. */
async function isThere(inquiry: Inquiry, { path, line, column }: CodePlace): Promise<boolean> {
  if ((await inquiry.text(path)) === null) return true;
  return column <= ((await inquiry.lines(path))[line - 1]?.length ?? 0);
}

/** Characters that are parsed to tell comments from code: an answer from text is wanted at once. */
const MOST_PARSED = 200_000;

/** Every hit that is not in a comment or a string; others of the same name are among them. */
async function usagesByText(inquiry: Inquiry, ask: UsagesAsk, anchors: UsageAnchors): Promise<Usages> {
  const { name } = splitSymbol(ask.symbol);
  const { hits, why } = await inquiry.look(name, { explain: true });
  const language = languageOf(ask.file);
  const reasons = new Map<TextHit, string>();
  for (const hit of hits) if (languageOf(hit.path) !== language) reasons.set(hit, 'in files of another kind');
  const roles = await rolesOf(
    inquiry,
    hits.filter((hit) => !reasons.has(hit)),
    MOST_PARSED,
  );
  for (const [hit, role] of roles.told) if (role !== 'code') reasons.set(hit, `in a ${role}`);
  const defined = new Set(
    anchors.definitions.map(({ line, column }) => keyOf({ path: ask.file, line, column })),
  );
  const left = sorted(hits.filter((hit) => !reasons.has(hit)).map(plainLine));
  return {
    definitions: left.filter((each) => defined.has(keyOf(each))),
    usages: left.filter((each) => !defined.has(keyOf(each))),
    found: 'text',
    complete: false,
    notes: [
      'these are the places where the name stands; other symbols of the same name are among them, and uses under another name are not',
      ...(roles.left > 0 ? [`in ${roles.left} files comments and strings were not told from code`] : []),
      ...(why === null ? [] : [why]),
      ...anchors.notes,
    ],
    uncovered: grouped(reasons),
  };
}

const sorted = <T extends { readonly path: string; readonly line: number; readonly column: number }>(
  all: readonly T[],
): T[] =>
  all.toSorted((a, b) =>
    a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line || a.column - b.column,
  );
