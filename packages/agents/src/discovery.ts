import { join } from 'node:path';
import { PLACES, type AgentDefinition, type AgentEntry, type Place, type Problem } from './definition.ts';
import { FileCache, listFiles, problem, realPath, type FoundFile } from './folder.ts';
import { parseDefinition, type ParsedDefinition } from './parse-definition.ts';

/** In a repository and in the home, nearest first (AGT5). */
export const VENDORS = ['.reveille', '.github', '.claude'] as const;

export interface Roots {
  /** The top of the person's checkout. */
  readonly repository: string | undefined;
  readonly home: string;
  /** The folder of the built-in definitions. */
  readonly builtins: string;
}

/** A definition of the repository counts only after the person trusted its content. */
export type IsTrusted = (subject: {
  readonly kind: 'agent';
  readonly name: string;
  readonly content: string;
}) => boolean;

/** What was found at one look. */
export interface Discovered {
  readonly entries: readonly AgentEntry[];
  readonly used: ReadonlyMap<string, AgentDefinition>;
  readonly problems: readonly Problem[];
  /** The folders that hold definitions now. */
  readonly folders: readonly string[];
}

/** Enough for any repository; one that has more is not about agents. */
const MOST = { files: 300, bytes: 256 * 1024, depth: 2 } as const;

interface Source {
  readonly place: Place;
  readonly folder: string;
  readonly within: string;
  readonly vendor: (typeof VENDORS)[number] | null;
}

/** The places to look, nearest first. A repository that is the home itself is the person's own, and is only that. */
export function placesOf(roots: Roots, what: 'agents' | 'skills'): Source[] {
  const sources: Source[] = [];
  for (const place of PLACES) {
    const within = place === 'builtin' ? undefined : roots[place];
    const same = place === 'repository' && within !== undefined && realPath(within) === realPath(roots.home);
    if (within === undefined || same) continue;
    for (const vendor of VENDORS) sources.push({ place, within, vendor, folder: join(within, vendor, what) });
  }
  return sources;
}

/** What a look has found so far. */
interface Finding {
  readonly entries: AgentEntry[];
  readonly used: Map<string, AgentDefinition>;
  readonly problems: Problem[];
  readonly folders: string[];
  readonly paths: Set<string>;
}

type Kept = ParsedDefinition & { readonly content: string };

/** Looks for definitions. What was read before is read again only if its file has changed. */
export class Discovery {
  readonly #roots: Roots;
  readonly #isTrusted: IsTrusted;
  readonly #cache = new FileCache<Kept>();

  constructor(roots: Roots, isTrusted: IsTrusted) {
    this.#roots = roots;
    this.#isTrusted = isTrusted;
  }

  look(): Discovered {
    const found = {
      entries: [],
      used: new Map(),
      problems: [],
      folders: [],
      paths: new Set(),
    } satisfies Finding;
    for (const source of this.#sources()) this.#lookAt(source, found);
    this.#cache.keep(found.paths);
    return found;
  }

  #lookAt(source: Source, into: Finding): void {
    const { files, folders, problems } = listFiles(source.folder, {
      within: source.within,
      links: 'folder',
      accept: isDefinition,
      depth: MOST.depth,
      most: MOST.files,
    });
    into.folders.push(...folders);
    into.problems.push(...problems);
    const names = new Map<string, string>();
    for (const file of files) {
      into.paths.add(file.path);
      const kept = this.#read(file, source);
      into.problems.push(...kept.problems);
      if (kept.definition === null) continue;
      const { name } = kept.definition;
      const other = names.get(name);
      if (other === undefined) this.#add(kept.definition, kept.content, into);
      else into.problems.push(problem(file.path, `the name ${name} is already that of ${other}`));
      names.set(name, other ?? file.path);
    }
  }

  #add(definition: AgentDefinition, content: string, { entries, used }: Finding): void {
    const { name, place } = definition;
    const trusted = place !== 'repository' || this.#isTrusted({ kind: 'agent', name, content });
    const state = !trusted ? 'untrusted' : used.has(name) ? 'hidden' : 'used';
    if (state === 'used') used.set(name, definition);
    entries.push({ definition, state });
  }

  #sources(): Source[] {
    const { builtins } = this.#roots;
    const builtin = { place: 'builtin', folder: builtins, within: builtins, vendor: null } as const;
    return [...placesOf(this.#roots, 'agents'), builtin];
  }

  #read(file: FoundFile, source: Source): Kept {
    return this.#cache.get(file, MOST.bytes, (text) => {
      if (typeof text !== 'string') return { definition: null, problems: [text], content: '' };
      const format = file.path.endsWith('.agent.md') || source.vendor === '.github' ? 'vscode' : 'claude';
      const parsed = parseDefinition({ path: file.path, place: source.place, format, content: text });
      return { ...parsed, content: text };
    });
  }
}

/** Markdown, but not the pages that people put beside definitions. */
const isDefinition = (name: string): boolean =>
  name.endsWith('.md') && !/^(readme|agents|claude)\.md$/i.test(name);
