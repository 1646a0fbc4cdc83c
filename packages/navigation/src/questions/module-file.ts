import { basename, dirname, join, normalize } from 'node:path/posix';
import { ReveilleError } from '@reveille/protocol';
import { LANGUAGES, extensionOf, languageOf } from '../languages.ts';
import type { Inquiry } from './inquiry.ts';

const ENTRIES = ['index', '__init__', 'mod', 'lib', 'main'];
/** A folder's own name, in Go. */
const entriesOf = (stem: string): string[] => [...ENTRIES, basename(stem)];

/** The file that a module's path means: itself, or without its ending, or the entry of a folder. */
export async function moduleFile(inquiry: Inquiry, given: string): Promise<string> {
  const path = normalize(given.replace(/^\.\//, '')).replace(/\/$/, '');
  const dotted = path.includes('/') || languageOf(path) ? [] : [path.replaceAll('.', '/')];
  const stems = [path, ...dotted].flatMap((stem) => [
    stem,
    ...entriesOf(stem).flatMap((entry) => [`${stem}/${entry}`, `${stem}/src/${entry}`]),
  ]);
  if (languageOf(path) && (await inquiry.text(path)) !== null) return path;
  const names = new Set(stems.flatMap((stem) => endings().map((ending) => basename(`${stem}.${ending}`))));
  const there = new Set(await inquiry.named([...names]));
  for (const stem of stems)
    for (const ending of endings()) if (there.has(`${stem}.${ending}`)) return `${stem}.${ending}`;
  // `x.js` in an import means `x.ts` on disk.
  const bare = path.replace(/\.[cm]?jsx?$/, '');
  for (const ending of ['ts', 'tsx', 'mts', 'cts'])
    if (bare !== path && (await inquiry.text(`${bare}.${ending}`)) !== null) return `${bare}.${ending}`;
  if ((await inquiry.text(path)) !== null) return path;
  throw new ReveilleError(
    'not_found',
    `There is no module ${JSON.stringify(given)}: give the path of its file from the root of the worktree, as list_directory shows it.`,
  );
}

const endings = (): string[] => LANGUAGES.flatMap(({ extensions }) => Object.keys(extensions));

/**
 * Words by which others may import a file: its name, its folder's if it is an entry, the name of its package, and the
 * aliases that a project's settings give it. Whoever imports it writes one of them.
 */
export async function importNames(inquiry: Inquiry, file: string): Promise<string[]> {
  const stem = basename(file)
    .slice(0, -(extensionOf(file).length + 1))
    .replace(/\.d$/, '');
  const folder = basename(dirname(file));
  // A folder stands for its entry, and also for a file that its manifest names.
  const manifest = (await inquiry.text(join(dirname(file), 'package.json'))) ?? '';
  const isFolders =
    ENTRIES.includes(stem) || manifest.includes(stem) || languageOf(file)?.imports === 'folder';
  const byFolder = isFolders && folder !== '.' ? [folder] : [];
  const byName = UNSPOKEN.includes(stem) ? ["'.'", '"."', "'..'", '".."', './index', '../index'] : [stem];
  const packages = await packageNames(inquiry, file, stem);
  return [...new Set([...byName, ...byFolder, ...packages, ...(await aliases(inquiry, file))])];
}

/** Entries that nobody writes: the folder is enough. */
const UNSPOKEN = ['index', '__init__', 'mod'];

/** The packages above whose entry it is or may be, and the names that their manifests give it (`#name`). */
async function packageNames(inquiry: Inquiry, file: string, stem: string): Promise<string[]> {
  const manifests = await inquiry.named(['package.json']);
  const above = manifests.filter((path) => dirname(path) === '.' || file.startsWith(`${dirname(path)}/`));
  const found = await Promise.all(
    above.map(async (path) => ({ path, json: parsed(await inquiry.text(path)) })),
  );
  return found.flatMap(({ path, json }) => {
    const named = JSON.stringify([json?.['exports'], json?.['main'], json?.['module'], json?.['types']]);
    const isNamed = ENTRIES.includes(stem) || named.includes(stem) || dirname(path) === dirname(file);
    const own = isNamed && typeof json?.['name'] === 'string' ? [json['name']] : [];
    const internal = Object.entries(record(json?.['imports']))
      .filter(([, target]) => JSON.stringify(target).includes(stem))
      .map(([name]) => name.replace(/\/?\*.*$/, ''));
    return [...own, ...internal];
  });
}

/** Exact aliases of tsconfig paths that lead to the file; those with a star hold the file's own name. */
async function aliases(inquiry: Inquiry, file: string): Promise<string[]> {
  const configs = await inquiry.named(['tsconfig.json', 'jsconfig.json', 'tsconfig.base.json']);
  const found = await Promise.all(
    configs.map(async (config) => {
      const json = parsed(stripComments((await inquiry.text(config)) ?? ''));
      const options = record(json?.['compilerOptions']);
      const root = join(dirname(config), typeof options['baseUrl'] === 'string' ? options['baseUrl'] : '.');
      return Object.entries(record(options['paths'])).flatMap(([alias, targets]) =>
        Array.isArray(targets) && targets.some((target) => leadsTo(join(root, String(target)), file))
          ? [alias.replace(/\/?\*$/, '')]
          : [],
      );
    }),
  );
  return found.flat();
}

function leadsTo(target: string, file: string): boolean {
  const bare = (path: string): string => path.replace(/\.[cm]?[jt]sx?$/, '');
  if (!target.includes('*')) return [bare(target), join(target, 'index')].includes(bare(file));
  const [before = '', after = ''] = target.split('*');
  // Only an entry needs it: the name of any other file is in what is written for the star.
  return (
    ENTRIES.includes(basename(bare(file))) &&
    file.startsWith(before) &&
    (bare(file).endsWith(bare(after)) || after === '')
  );
}

/** One that is not closed goes to the end. */
const stripComments = (text: string): string =>
  text
    .replaceAll(/("(?:\\[\s\S]|[^"\\])*(?:"|$))|\/\*(?:[\s\S]*?\*\/|[\s\S]*)|\/\/[^\n]*/g, '$1')
    .replaceAll(/,(\s*[}\]])/g, '$1');

function parsed(text: string | null): Record<string, unknown> | null {
  try {
    return record(JSON.parse(text ?? ''));
  } catch {
    // A manifest that cannot be read names nothing.
    return null;
  }
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
