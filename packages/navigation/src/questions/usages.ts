import { ReveilleError, type CodeLine, type Usages } from '@reveille/protocol';
import { languageOf } from '../languages.ts';
import type { ServerPlace, ServerSession } from '../lsp/session.ts';
import { isCommentLine } from '../syntax/comment-lines.ts';
import type { TextHit } from '../text/trees.ts';
import { anchorsIn, type Anchors } from './anchors.ts';
import { crossCheck, grouped } from './cross-check.ts';
import { inBatches, inside, keyOf, splitSymbol, type Inquiry } from './inquiry.ts';
import { importNames } from './module-file.ts';
import { openProjects, untilStable } from './projects.ts';

export interface UsagesAsk {
  readonly symbol: string;
  readonly file: string;
}

export async function usages(inquiry: Inquiry, asked: UsagesAsk): Promise<Usages> {
  const ask = { symbol: asked.symbol, file: await inquiry.file(asked.file) };
  const anchors = await anchorsIn(inquiry, ask.file, ask.symbol);
  if (anchors.spots.length === 0)
    throw new ReveilleError(
      'not_found',
      `${ask.symbol} is not in ${ask.file}. navigate_to_symbol finds where it is defined.`,
    );
  return await inquiry.answer(languageOf(ask.file), {
    byText: () => usagesByText(inquiry, ask, anchors),
    byServer: (session) => usagesByServer(inquiry, session, { ask, anchors }),
  });
}

async function usagesByServer(
  inquiry: Inquiry,
  session: ServerSession,
  { ask, anchors }: { readonly ask: UsagesAsk; readonly anchors: Anchors },
): Promise<Usages> {
  const { name } = splitSymbol(ask.symbol);
  const key = `usages\0${ask.file}\0${ask.symbol}`;
  // The next page of an answer is the same question again.
  if (session.hasAnswered(key)) {
    await inquiry.bringUp(session);
    const same = session.answered<Usages>(key);
    if (same) return same;
  }
  const spots = anchors.definitions.length > 0 ? anchors.spots : anchors.spots.slice(0, 1);
  const at = spots.map((spot) => ({ path: ask.file, line: spot.line, column: spot.column }));
  const askAll = async () => (await Promise.all(at.map((spot) => session.references(spot)))).flat();
  // While the disk is looked at. If anything has changed, the answer does not count and it is asked again.
  const early = session.settled ? askAll() : null;
  early?.catch(() => undefined);
  const look = await inquiry.bringUp(session, name);
  const notLoaded = await openProjects(inquiry, session, { hits: look.hits, file: ask.file });
  const first = early && session.settled ? await early : await untilStable(session, askAll);
  session.settled = true;
  const lines = new Map(look.hits.map((hit) => [keyOf(hit), hit]));
  const found = await underOtherNames(inquiry, session, { name, lines, found: first, askAll });
  const declared = (await Promise.all(at.map((spot) => session.definition(spot)))).flat();
  const refs = new Map(inside(found).map((place) => [keyOf(place), place]));
  const defined = new Set([
    ...inside(declared).map(keyOf),
    ...(anchors.definitions.length > 0 ? at.map(keyOf) : []),
  ]);
  const check = await crossCheck(inquiry, session, {
    hits: look.hits,
    covered: new Set([...refs.keys(), ...defined]),
  });
  const shown = await inBatches([...refs.values()], 64, (place) => lineOf(inquiry, place, lines));
  const all = sorted([...shown, ...check.uses]);
  const incomplete = [
    ...notLoaded,
    ...(look.why === null ? [] : [look.why]),
    ...(check.open ? ['some text hits could not be explained; they are listed'] : []),
    ...(refs.size === 0 ? ['the server found nothing at this place'] : []),
  ];
  const answer: Usages = {
    definitions: all.filter((each) => defined.has(keyOf(each))),
    usages: all.filter((each) => !defined.has(keyOf(each))),
    found: 'semantic',
    complete: incomplete.length === 0,
    notes: [...anchors.notes, ...incomplete],
    uncovered: check.uncovered,
  };
  // What was not complete while a project was being loaded may be so next time.
  return answer.complete || early !== null ? session.remember(key, look.version, answer) : answer;
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
    readonly lines: ReadonlyMap<string, TextHit>;
    readonly found: readonly ServerPlace[];
    readonly askAll: () => Promise<ServerPlace[]>;
  },
): Promise<readonly ServerPlace[]> {
  const { projectFiles } = session.language;
  const projects = projectFiles.length === 0 ? [] : await inquiry.named(projectFiles);
  // The server knows all of a single project, and of a language without projects.
  const isOne = projectFiles.length === 0 || (projects.length === 1 && !projects[0]?.includes('/'));
  if (isOne) return asked.found;
  const known = new Set([asked.name]);
  let { found } = asked;
  for (let i = 0; i < MOST_ROUNDS; i++) {
    const others = (await otherNames(inquiry, found, asked.lines)).filter((other) => !known.has(other));
    if (others.length === 0) return found;
    for (const other of others) known.add(other);
    const looks = await Promise.all(others.map((other) => inquiry.look(other)));
    await openProjects(inquiry, session, { hits: looks.flatMap(({ hits }) => hits), file: null });
    // Nothing was opened: the server knew of all of them.
    if (session.settled) return found;
    found = await untilStable(session, asked.askAll);
    session.settled = true;
  }
  return found;
}

async function otherNames(
  inquiry: Inquiry,
  found: readonly ServerPlace[],
  lines: ReadonlyMap<string, TextHit>,
): Promise<string[]> {
  const names = await inBatches(inside(found), 64, async ({ path, line, column }) => {
    const hit = lines.get(keyOf({ path, line, column }));
    const text = hit?.text ?? (await inquiry.lineAt(path, line));
    const word = /^[\p{L}\p{N}_$]+/u.exec(text.slice(column - 1))?.[0] ?? '';
    const isDefault = word === 'default' || /\bexport\s+default\b|\bmodule\.exports\s*=/.test(text);
    return isDefault ? { word: '', path } : { word, path: null };
  });
  const files = [...new Set(names.flatMap(({ path }) => (path === null ? [] : [path])))];
  const imported = await inBatches(files, 4, (path) => importNames(inquiry, path));
  return [...new Set([...names.map(({ word }) => word), ...imported.flat()])].filter((word) => word !== '');
}

async function lineOf(
  inquiry: Inquiry,
  place: { readonly path: string; readonly line: number; readonly column: number },
  lines: ReadonlyMap<string, TextHit>,
): Promise<CodeLine> {
  return lines.get(keyOf(place)) ?? (await inquiry.withLine(place));
}

/** Characters that are parsed to tell comments from code: an answer from text is wanted at once. */
const MOST_PARSED = 200_000;

/** Every hit that is not in a comment or a string; others of the same name are among them. */
async function usagesByText(inquiry: Inquiry, ask: UsagesAsk, anchors: Anchors): Promise<Usages> {
  const { name } = splitSymbol(ask.symbol);
  const { hits, why } = await inquiry.look(name);
  const language = languageOf(ask.file);
  const reasons = new Map<TextHit, string>();
  const files = [...Map.groupBy(hits, ({ path }) => path)];
  let parsed = 0;
  let chars = 0;
  for (const [path, within] of files) {
    const isParsed = chars <= MOST_PARSED;
    const text = isParsed ? ((await inquiry.text(path)) ?? '') : '';
    const roles = isParsed ? await inquiry.syntax.roles(path, text, within) : null;
    parsed += Number(isParsed);
    chars += text.length;
    for (const [i, hit] of within.entries()) {
      if (roles && roles[i] !== 'code') reasons.set(hit, `in a ${roles[i]}`);
      else if (languageOf(path) !== language) reasons.set(hit, 'in files of another kind');
      else if (!isParsed && language && isCommentLine(await inquiry.lines(path), hit, language))
        reasons.set(hit, 'in a comment');
    }
  }
  const defined = new Set(
    anchors.definitions.map(({ line, column }) => keyOf({ path: ask.file, line, column })),
  );
  const left = sorted(hits.filter((hit) => !reasons.has(hit)));
  return {
    definitions: left.filter((each) => defined.has(keyOf(each))),
    usages: left.filter((each) => !defined.has(keyOf(each))),
    found: 'text',
    complete: false,
    notes: [
      'these are the places where the name stands; other symbols of the same name are among them, and uses under another name are not',
      ...(parsed < files.length
        ? [`comments and strings were told apart in ${parsed} of ${files.length} files only`]
        : []),
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
