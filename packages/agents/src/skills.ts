import { basename, dirname, relative } from 'node:path';
import { ReveilleError, nearest } from '@reveille/protocol';
import type { Place, Problem } from './definition.ts';
import { placesOf, type Roots } from './discovery.ts';
import { FileCache, listFiles, problem, readText, type FoundFile } from './folder.ts';
import { readFrontMatter } from './front-matter.ts';
import { legalName } from './parse-definition.ts';
import { oneLine } from './sections.ts';

/** A skill as it is listed: what it is called and what it is for, nothing more until somebody wants it. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly place: Place;
  readonly path: string;
}

export interface LoadedSkill {
  readonly skill: Skill;
  /** Its instructions, or the file of it that was asked for. */
  readonly text: string;
  /** The other files in its folder, which can be asked for by these names. */
  readonly files: readonly string[];
}

const MOST = { skills: 300, bytes: 256 * 1024, files: 100, depth: 3 } as const;

interface Kept {
  readonly name: string | null;
  readonly description: string;
  readonly body: string;
  readonly problems: readonly Problem[];
}

interface Found {
  readonly skill: Skill;
  readonly file: FoundFile;
  readonly within: string;
  readonly body: string;
}

/** The skills of the repository and of the home, nearest first. */
export class Skills {
  readonly #roots: Roots;
  readonly #cache = new FileCache<Kept>();

  constructor(roots: Roots) {
    this.#roots = roots;
  }

  list(): Skill[] {
    return [...this.#look().found.values()]
      .map(({ skill }) => skill)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  problems(): readonly Problem[] {
    return this.#look().problems;
  }

  load(name: string, file?: string): LoadedSkill {
    const { found } = this.#look();
    const wanted = found.get(legalName(name) ?? '');
    if (!wanted) {
      const known = nearest(name, [...found.keys()]).slice(0, 10);
      const list = known.length > 0 ? `there are: ${known.join(', ')}` : 'there are none';
      throw new ReveilleError('not_found', `There is no skill "${name.slice(0, 64)}"; ${list}.`, {
        data: { known },
      });
    }
    const files = this.#filesOf(wanted);
    const names = [...files.keys()];
    if (file === undefined) return { skill: wanted.skill, text: wanted.body, files: names };
    const asked = files.get(file);
    const text = asked ? readText(asked, MOST.bytes) : problem(file, 'it is not in the folder of the skill');
    if (typeof text === 'string') return { skill: wanted.skill, text, files: names };
    const known = nearest(file, names).slice(0, 10);
    throw new ReveilleError('not_found', `"${file.slice(0, 100)}" cannot be read: ${text.message}.`, {
      data: { known },
    });
  }

  #filesOf({ file, within }: Found): Map<string, FoundFile> {
    const folder = dirname(file.path);
    const { files } = listFiles(folder, {
      within,
      links: 'within',
      accept: (name) => name !== 'SKILL.md',
      depth: MOST.depth,
      most: MOST.files,
    });
    return new Map(files.map((entry) => [relative(folder, entry.path), entry]));
  }

  #look(): { readonly found: ReadonlyMap<string, Found>; readonly problems: readonly Problem[] } {
    const found = new Map<string, Found>();
    const problems: Problem[] = [];
    const paths = new Set<string>();
    for (const { folder, within, place } of placesOf(this.#roots, 'skills')) {
      const accept = (name: string): boolean => name === 'SKILL.md';
      // Installers link a skill's folder to one that several products share.
      const listing = listFiles(folder, { within, links: 'within', accept, depth: 1, most: MOST.skills });
      problems.push(...listing.problems);
      for (const file of listing.files) {
        paths.add(file.path);
        const {
          name,
          description,
          body,
          problems: own,
        } = this.#cache.get(file, MOST.bytes, (text) => read(file, text));
        problems.push(...own);
        const skill = name === null ? null : { name, description, place, path: file.path };
        if (skill && !found.has(skill.name)) found.set(skill.name, { skill, file, within, body });
      }
    }
    this.#cache.keep(paths);
    return { found, problems };
  }
}

function read(file: FoundFile, text: string | Problem): Kept {
  const unusable = { name: null, description: '', body: '' };
  if (typeof text !== 'string') return { ...unusable, problems: [text] };
  const matter = readFrontMatter(text.replace(/^\uFEFF/, ''));
  if (!matter) {
    const why = 'there is no front matter: a skill begins with "---", `name: …`, `description: …`, "---"';
    return { ...unusable, problems: [{ ...problem(file.path, why), line: 1, column: 1 }] };
  }
  const written = matter.text('name') ?? basename(dirname(file.path));
  const name = legalName(written);
  const description = oneLine(matter.text('description') ?? '', 1_024);
  if (!matter.failed && name === null)
    matter.note('name', 'error', 'a name is letters, digits, "-" and "_", and begins with a letter');
  if (!matter.failed && description === '')
    matter.note('description', 'error', 'there is no description: add a line `description: …`');
  const problems = matter.notes.map((note) => ({ path: file.path, ...note }));
  return { name: matter.failed ? null : name, description, body: matter.body.trim(), problems };
}
