import { dirname, join } from 'node:path/posix';
import type { CodeLine, ModuleExport, ModuleImport, ModuleView, Uncovered } from '@reveille/protocol';
import { languageOf } from '../languages.ts';
import type { ServerSession } from '../lsp/session.ts';
import type { SyntaxDefinition } from '../syntax/definitions.ts';
import type { ModuleSyntax, SyntaxImport } from '../syntax/modules.ts';
import { partsOfHover } from './describe.ts';
import { inBatches, inside, keyOf, type Inquiry } from './inquiry.ts';
import { importCandidates, type Candidate } from './importers.ts';
import { moduleFile } from './module-file.ts';
import { openFile, openProjects, untilStable } from './projects.ts';

const MOST_EXPORTS = 300;
const MOST_FOLLOWED = 2_000;
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
  const shown = exported.found.slice(0, MOST_EXPORTS);
  const exports = await inBatches(shown, 8, (each) => withHover(session, each));
  const { found: targets, stable } = await untilStable<string | null>(session, {
    ask: () => inBatches(syntax.imports, 8, (each) => follow(path, each)),
    loadMs: inquiry.loadMs,
  });
  const isFolders = session.language.imports === 'folder';
  const imports = syntax.imports.map((each, i) => {
    const target = targets[i] ?? null;
    return importOf(each, target !== null && isFolders ? dirname(target) : target);
  });
  const importing = await importersOf(inquiry, session, { path, follow });
  const nobody = importing.real.length === 0 ? await usedElsewhere(session, path, exports) : [];
  const left = exported.found.length - shown.length;
  const incomplete = [
    ...(stable ? [] : ['the server is still loading the project: imports may lead to more']),
    ...nobody,
    ...exported.incomplete,
    ...(left > 0 ? [`${left} more exports are not shown`] : []),
    ...importing.incomplete,
  ];
  return {
    path,
    exports,
    imports,
    importers: await lines(inquiry, importing.real),
    found: 'semantic',
    complete: incomplete.length === 0,
    notes: incomplete,
    uncovered: await uncoveredOf(inquiry, importing.lost),
  };
}

interface Importing {
  readonly real: readonly Candidate[];
  /** They lead nowhere, and may mean the file. */
  readonly lost: readonly Candidate[];
  readonly incomplete: readonly string[];
}

async function importersOf(
  inquiry: Inquiry,
  session: ServerSession,
  { path, follow }: { readonly path: string; readonly follow: Walk['follow'] },
): Promise<Importing> {
  const candidates = await importCandidates(inquiry, path);
  const notLoaded = await openProjects(inquiry, session, { hits: candidates.hits, file: null });
  const looked = candidates.found.slice(0, MOST_FOLLOWED);
  const followed = await inBatches(looked, 8, async (each) => {
    if (session.language.opensAsked) await openFile(inquiry, session, each.path);
    return { ...each, target: await targetOf(each, path, follow) };
  });
  const lost = followed.filter((each) => each.target === null && mayMean(each, path));
  const { imports } = session.language;
  const isOurs = (target: string | null): boolean =>
    target === path || (target !== null && imports === 'folder' && dirname(target) === dirname(path));
  const left = candidates.found.length - looked.length;
  const incomplete = [
    ...notLoaded,
    ...candidates.incomplete,
    ...(left > 0 ? [`${left} more possible importers were not looked at`] : []),
    ...(lost.length > 0 ? ['some imports could not be followed; they are listed'] : []),
    ...(imports === 'symbol' ? [BY_NAME] : []),
  ];
  return { real: followed.filter(({ target }) => isOurs(target)), lost, incomplete };
}

const BY_NAME =
  'importers are those that name the file; in this language others may use what it defines without naming it';

/** Where an import leads; to the file itself, if one of the names that it imports is the file. */
async function targetOf(
  { path: from, written }: Candidate,
  path: string,
  follow: Walk['follow'],
): Promise<string | null> {
  const target = await follow(from, written);
  const stem = path
    .split('/')
    .at(-1)
    ?.replace(/\.[^.]+$/, '');
  const spot = written.spots?.find(({ name }) => name === stem);
  if (target === path || !spot) return target;
  return (await follow(from, { ...written, line: spot.line, column: spot.column })) ?? target;
}

/** Whether an import that leads nowhere is written as one of the file would be. */
function mayMean({ path: from, written: { specifier } }: Candidate, path: string): boolean {
  const bare = (file: string): string =>
    file.replace(/\.[^./]+$/, '').replace(/\/(?:index|__init__|mod)$/, '');
  const last = bare(path).split('/').at(-1) ?? '';
  if (!specifier.startsWith('.') || !specifier.includes('/'))
    return bare(specifier).split(/[/.:]/).includes(last);
  return bare(join(dirname(from), specifier)) === bare(path);
}

async function uncoveredOf(inquiry: Inquiry, lost: readonly Candidate[]): Promise<Uncovered[]> {
  if (lost.length === 0) return [];
  const places = (await lines(inquiry, lost)).slice(0, 5);
  return [{ reason: 'an import that could not be followed', count: lost.length, places }];
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
    importers: await lines(inquiry, candidates.found.slice(0, MOST_FOLLOWED)),
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
  const parsed = await inquiry.syntax.definitions(path, text);
  const defined = parsed ?? [];
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
  const unparsed = parsed ? [] : [notParsed(path)];
  return { found, incomplete: [...unparsed, ...passed.flatMap(({ incomplete }) => incomplete)] };
}

const notParsed = (path: string): string =>
  `${path} was not parsed (too large, made to be slow, or of a kind without a grammar): what it defines is not all listed`;

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

/** What is in a namespace is at the top as well. */
function topLevel(path: string, defined: readonly SyntaxDefinition[], { all }: ModuleSyntax): ModuleExport[] {
  const spaces = new Set(defined.flatMap(({ kind, name }) => (kind === 'namespace' ? [name] : [])));
  const top = defined.filter(
    ({ local, container, kind }) =>
      !local && kind !== 'namespace' && (container === null || spaces.has(container)),
  );
  const isPublic = languageOf(path)?.isPublic;
  return top
    .filter(({ name, signature }) => all?.includes(name) ?? isPublic?.(name, signature) ?? true)
    .map((each) => asExport(path, each.name, each));
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

async function syntaxOf(inquiry: Inquiry, path: string): Promise<ModuleSyntax> {
  return (await inquiry.syntax.module(path, (await inquiry.text(path)) ?? '')) ?? NO_SYNTAX;
}

async function lines(inquiry: Inquiry, places: readonly Candidate[]): Promise<CodeLine[]> {
  return await inBatches(places, 8, (place) => inquiry.withLine(place));
}
