import { dirname, join } from 'node:path/posix';
import type { CodeLine, ModuleExport, ModuleImport, ModuleView } from '@reveille/protocol';
import { languageOf, type Language } from '../languages.ts';
import type { ServerSession } from '../lsp/session.ts';
import type { SyntaxDefinition } from '../syntax/definitions.ts';
import type { ModuleSyntax, SyntaxImport } from '../syntax/modules.ts';
import type { TextHit } from '../text/trees.ts';
import { partsOfHover } from './describe.ts';
import { inBatches, inside, keyOf, type Inquiry } from './inquiry.ts';
import { importNames, moduleFile } from './module-file.ts';
import { openFile, openProjects } from './projects.ts';

const MOST_EXPORTS = 300;
const MOST_CANDIDATES = 300;
const MOST_DEPTH = 8;
const NO_SYNTAX: ModuleSyntax = { imports: [], exports: [], stars: [], all: null };

export async function moduleView(inquiry: Inquiry, ask: { readonly path: string }): Promise<ModuleView> {
  const path = await moduleFile(inquiry, ask.path);
  return await inquiry.answer(languageOf(path), {
    byText: () => byText(inquiry, path),
    byServer: (session) => byServer(inquiry, session, path),
  });
}

async function byServer(inquiry: Inquiry, session: ServerSession, path: string): Promise<ModuleView> {
  await inquiry.bringUp(session);
  await openFile(inquiry, session, path);
  const syntax = await syntaxOf(inquiry, path);
  const follow = async (from: string, { line, column }: SyntaxImport): Promise<string | null> => {
    const [target] = inside(await session.definition({ path: from, line, column }));
    return target?.path ?? null;
  };
  const exported = await exportsOf(inquiry, path, { follow, depth: 0, seen: new Set() });
  const exports = await inBatches(exported.found.slice(0, MOST_EXPORTS), 8, (each) =>
    withHover(session, each),
  );
  const imports = await inBatches(syntax.imports, 8, async (each) =>
    importOf(each, await follow(path, each)),
  );
  const candidates = await importCandidates(inquiry, path);
  const notLoaded = await openProjects(inquiry, session, { hits: candidates.hits, file: null });
  const importers = await inBatches(candidates.found.slice(0, MOST_CANDIDATES), 8, async (each) => {
    if (session.language.opensAsked) await openFile(inquiry, session, each.path);
    const target = await follow(each.path, each.written);
    return { ...each, target };
  });
  session.settled = true;
  const real = importers.filter(({ target }) => target === path);
  const incomplete = [
    ...(real.length === 0 ? await usedElsewhere(session, path, exports) : []),
    ...notLoaded,
    ...exported.incomplete,
    ...(exported.found.length > MOST_EXPORTS
      ? [`only ${MOST_EXPORTS} of ${exported.found.length} exports are shown`]
      : []),
    ...(candidates.found.length > MOST_CANDIDATES
      ? [`only ${MOST_CANDIDATES} of ${candidates.found.length} possible importers were looked at`]
      : []),
    ...candidates.incomplete,
  ];
  const lost = importers.filter(
    ({ target, written }) => target === null && mayBe(written, path, languageOf(path)),
  );
  return {
    path,
    exports,
    imports,
    importers: await lines(inquiry, real),
    found: 'semantic',
    complete: incomplete.length === 0 && lost.length === 0,
    notes: [
      ...incomplete,
      ...(lost.length > 0 ? ['some imports could not be followed; they are listed'] : []),
    ],
    uncovered:
      lost.length === 0
        ? []
        : [
            {
              reason: 'an import that could not be followed',
              count: lost.length,
              places: (await lines(inquiry, lost)).slice(0, 5),
            },
          ],
  };
}

/** Nobody seems to import it: if others use what it exports all the same, its importers write a name we do not know. */
async function usedElsewhere(
  session: ServerSession,
  path: string,
  exports: readonly ModuleExport[],
): Promise<string[]> {
  const own = exports.filter((each) => each.path === path).slice(0, 3);
  const uses = (await inBatches(own, 3, (each) => session.references(each))).flat();
  return inside(uses).some((use) => use.path !== path)
    ? ['others use its exports, and how they import it was not found']
    : [];
}

/** An import that leads nowhere matters only if it could mean this file. */
const mayBe = ({ specifier }: SyntaxImport, path: string, language: Language | null): boolean =>
  specifier.startsWith('.')
    ? language?.name !== 'typescript'
    : path.includes(specifier.split('/').at(-1) ?? '');

async function byText(inquiry: Inquiry, path: string): Promise<ModuleView> {
  const syntax = await syntaxOf(inquiry, path);
  const follow = async (from: string, { specifier }: SyntaxImport): Promise<string | null> =>
    specifier.startsWith('.') && languageOf(from)?.name === 'typescript'
      ? await moduleFile(inquiry, join(dirname(from), specifier)).catch(() => null)
      : null;
  const exported = await exportsOf(inquiry, path, { follow, depth: 0, seen: new Set() });
  const candidates = await importCandidates(inquiry, path);
  return {
    path,
    exports: exported.found.slice(0, MOST_EXPORTS),
    imports: await inBatches(syntax.imports, 8, async (each) => importOf(each, await follow(path, each))),
    importers: await lines(inquiry, candidates.found.slice(0, MOST_CANDIDATES)),
    found: 'text',
    complete: false,
    notes: [
      'importers are lines that import something of this name',
      ...exported.incomplete,
      ...candidates.incomplete,
    ],
    uncovered: [],
  };
}

interface Walk {
  readonly follow: (from: string, written: SyntaxImport) => Promise<string | null>;
  readonly depth: number;
  readonly seen: Set<string>;
}
interface Exports {
  readonly found: readonly ModuleExport[];
  readonly incomplete: readonly string[];
}

/** What a file exports, `export *` followed. In languages without exports: what it defines at its top. */
async function exportsOf(inquiry: Inquiry, path: string, walk: Walk): Promise<Exports> {
  if (walk.seen.has(path)) return { found: [], incomplete: [] };
  walk.seen.add(path);
  const text = (await inquiry.text(path)) ?? '';
  const defined = (await inquiry.syntax.definitions(path, text)) ?? [];
  const syntax = await syntaxOf(inquiry, path);
  const isScript = languageOf(path)?.name === 'typescript';
  const own = isScript ? scriptExports(path, defined, syntax) : topLevel(path, defined, syntax);
  const passed = await inBatches(syntax.stars, 4, async (star): Promise<Exports> => {
    const target = walk.depth < MOST_DEPTH ? await walk.follow(path, star) : null;
    if (target === null)
      return {
        found: [],
        incomplete: [`export * from '${star.specifier}' (${path}:${star.line}) could not be followed`],
      };
    const { found, incomplete } = await exportsOf(inquiry, target, { ...walk, depth: walk.depth + 1 });
    const named = found.filter(({ name }) => name !== 'default');
    return { found: named.map((each) => ({ ...each, from: each.from ?? target })), incomplete };
  });
  const all = [...own, ...passed.flatMap(({ found }) => found)];
  // What a file exports itself hides what it passes on.
  const found = [...new Map(all.toReversed().map((each) => [each.name, each])).values()].toReversed();
  return { found, incomplete: passed.flatMap(({ incomplete }) => incomplete) };
}

function scriptExports(
  path: string,
  defined: readonly SyntaxDefinition[],
  syntax: ModuleSyntax,
): ModuleExport[] {
  const declared = defined.filter(
    ({ exported, local, container }) => exported && !local && container === null,
  );
  const defaults = syntax.exports.filter(({ name }) => name === 'default');
  const isDefault = (each: SyntaxDefinition): boolean =>
    defaults.some((other) => keyOf({ path, ...other }) === keyOf({ path, ...each }));
  return [
    ...declared.filter((each) => !isDefault(each)).map((each) => asExport(path, each.name, each)),
    ...syntax.exports.map((each) => {
      const local =
        defined.find((other) => other.line === each.line && other.column === each.column) ??
        defined.find(({ name, depth }) => name === each.name && depth === 0);
      return { ...asExport(path, each.name, local), line: each.line, column: each.column };
    }),
  ];
}

function topLevel(path: string, defined: readonly SyntaxDefinition[], { all }: ModuleSyntax): ModuleExport[] {
  const top = defined.filter(({ local, container }) => !local && container === null);
  const public_ = all
    ? top.filter(({ name }) => all.includes(name))
    : top.filter(({ name }) => !name.startsWith('_'));
  return public_.map((each) => asExport(path, each.name, each));
}

const asExport = (path: string, name: string, definition: SyntaxDefinition | undefined): ModuleExport => ({
  path,
  name,
  line: definition?.line ?? 1,
  column: definition?.column ?? 1,
  kind: definition?.kind ?? null,
  signature: definition?.signature ?? null,
  doc: definition?.doc ?? null,
  from: null,
});

async function withHover(session: ServerSession, each: ModuleExport): Promise<ModuleExport> {
  const { signature, doc } = partsOfHover(await session.hover(each));
  return { ...each, signature: signature ?? each.signature, doc: doc ?? each.doc };
}

const importOf = ({ line, specifier, names }: SyntaxImport, path: string | null): ModuleImport => ({
  line,
  specifier,
  path,
  names,
});

interface Candidate {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly written: SyntaxImport;
}

/** Imports, anywhere in the tree, that hold one of the file's names. */
async function importCandidates(
  inquiry: Inquiry,
  path: string,
): Promise<{
  readonly found: readonly Candidate[];
  readonly hits: readonly TextHit[];
  readonly incomplete: readonly string[];
}> {
  const names = await importNames(inquiry, path);
  const looks = await Promise.all(names.map((name) => inquiry.look(name)));
  const hits = looks
    .flatMap((look) => look.hits)
    .filter((hit) => languageOf(hit.path) === languageOf(path) && hit.path !== path);
  const files = [...new Set(hits.map((hit) => hit.path))];
  const found = await inBatches(files.slice(0, MOST_CANDIDATES), 4, async (file) => {
    const { imports } = await syntaxOf(inquiry, file);
    return imports
      .filter((each) => holds(each, names))
      .map((written) => ({ path: file, line: written.line, column: written.column, written }));
  });
  const incomplete = [
    ...(files.length > MOST_CANDIDATES
      ? [`only ${MOST_CANDIDATES} of ${files.length} files that hold its name were looked into`]
      : []),
    ...looks.flatMap(({ why }) => (why === null ? [] : [why])),
  ];
  return { found: found.flat(), hits, incomplete };
}

const holds = ({ specifier, names: imported }: SyntaxImport, names: readonly string[]): boolean =>
  names.some((name) => specifier.includes(name.replaceAll(/['"]/g, '')) || imported.includes(name));

async function syntaxOf(inquiry: Inquiry, path: string): Promise<ModuleSyntax> {
  return (await inquiry.syntax.module(path, (await inquiry.text(path)) ?? '')) ?? NO_SYNTAX;
}

async function lines(inquiry: Inquiry, places: readonly Candidate[]): Promise<CodeLine[]> {
  return await inBatches(places, 8, (place) => inquiry.withLine(place));
}
