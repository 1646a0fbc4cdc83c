import { ReveilleError, type Outline, type OutlineEntry, type TypeOf } from '@reveille/protocol';
import { languageOf } from '../languages.ts';
import type { ServerSession } from '../lsp/session.ts';
import { SYMBOL_KINDS, type TreeSymbol } from '../lsp/shapes.ts';
import { anchorsIn } from './anchors.ts';
import { partsOfHover } from './describe.ts';
import type { Inquiry } from './inquiry.ts';
import { openFile } from './projects.ts';

/** What a file defines. The parser knows that without the project; where it does not know the language, the server does. */
export async function outline(inquiry: Inquiry, ask: { readonly path: string }): Promise<Outline> {
  const path = await inquiry.file(ask.path);
  const text = (await inquiry.text(path)) ?? '';
  const parsed = await inquiry.syntax.definitions(path, text);
  if (parsed) {
    const entries = parsed
      .filter(({ local }) => !local)
      .map(({ name, kind, line, column, endLine, depth }) => ({
        path,
        name,
        kind,
        line,
        column,
        endLine,
        depth,
      }));
    return {
      path,
      entries,
      found: 'text',
      complete: true,
      notes: ['parsed; local names are left out'],
      uncovered: [],
    };
  }
  return await inquiry.answer(languageOf(path), {
    byText: async () => ({
      path,
      entries: [],
      found: 'text',
      complete: false,
      notes: ['this kind of file cannot be parsed here'],
      uncovered: [],
    }),
    byServer: (session) => outlineByServer(inquiry, session, path),
  });
}

async function outlineByServer(inquiry: Inquiry, session: ServerSession, path: string): Promise<Outline> {
  await inquiry.bringUp(session);
  await openFile(inquiry, session, path);
  const entries = (await session.symbols(path)).flatMap((symbol) => [...flat(path, symbol, 0)]);
  return { path, entries, found: 'semantic', complete: true, notes: [], uncovered: [] };
}

function* flat(path: string, symbol: TreeSymbol, depth: number): Generator<OutlineEntry> {
  const { start } = symbol.selectionRange;
  yield {
    path,
    name: symbol.name,
    kind: SYMBOL_KINDS[symbol.kind] ?? 'symbol',
    line: start.line + 1,
    column: start.character + 1,
    endLine: symbol.range.end.line + 1,
    depth,
  };
  for (const child of symbol.children ?? []) yield* flat(path, child, depth + 1);
}

/** What a name is in a file: its type as the server sees it. */
export async function typeOf(
  inquiry: Inquiry,
  ask: { readonly symbol: string; readonly file: string },
): Promise<TypeOf> {
  const file = await inquiry.file(ask.file);
  const { spots, definitions, notes } = await anchorsIn(inquiry, file, ask.symbol);
  const [spot] = spots;
  if (!spot) throw new ReveilleError('not_found', `${ask.symbol} is not in ${file}.`);
  const place = { path: file, line: spot.line, column: spot.column };
  return await inquiry.answer<TypeOf>(languageOf(file), {
    byText: async () => ({
      place,
      signature: definitions[0]?.signature ?? null,
      doc: definitions[0]?.doc ?? null,
      found: 'text',
      complete: false,
      notes: ['as it is written; types that are inferred are not known', ...notes],
      uncovered: [],
    }),
    byServer: async (session) => {
      await inquiry.bringUp(session);
      await openFile(inquiry, session, file);
      const described = partsOfHover(await session.hover(place));
      const complete = described.signature !== null;
      return { place, ...described, found: 'semantic', complete, notes: [...notes], uncovered: [] };
    },
  });
}
