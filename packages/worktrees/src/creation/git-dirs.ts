import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FoundRepository } from '../repository.ts';
import { orNull } from './files.ts';

/** A git directory of our making: no template, no hook, no remote. */
export interface GitDirSpec {
  readonly repository: FoundRepository;
  readonly path: string;
  /** Where objects are borrowed from. */
  readonly alternates: readonly string[];
  /** The branch that HEAD is on, and where refs stand at first. */
  readonly branch: string;
  readonly refs: Readonly<Record<string, string>>;
  readonly config: readonly (readonly [key: string, value: string])[];
  /** What is ignored besides the .gitignore files. */
  readonly exclude: string;
}

/** Written by hand: the same files as `git init` makes, without a process. */
export async function makeGitDir(spec: GitDirSpec): Promise<void> {
  const { path, repository } = spec;
  const files: Record<string, string> = {
    HEAD: `ref: refs/heads/${spec.branch}\n`,
    config: configText([...formatOf(repository), ...spec.config]),
    'info/exclude': spec.exclude,
    'objects/info/alternates': spec.alternates.map(alternateLine).join(''),
    ...Object.fromEntries(Object.entries(spec.refs).map(([ref, commit]) => [ref, `${commit}\n`])),
  };
  // Where history ends, for every git that looks at it.
  const shallow = await orNull(readFile(join(repository.gitDir, 'shallow'), 'utf8'));
  if (shallow !== null) files['shallow'] = shallow;
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'info', 'hooks'])
    await mkdir(join(path, folder), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
}

function formatOf({ traits }: FoundRepository): readonly (readonly [string, string])[] {
  const format =
    traits.objectFormat === 'sha1'
      ? [['core.repositoryformatversion', '0'] as const]
      : [
          ['core.repositoryformatversion', '1'] as const,
          ['extensions.objectformat', traits.objectFormat] as const,
        ];
  return [
    ...format,
    ['core.bare', 'false'],
    ['core.logallrefupdates', 'true'],
    ...traits.checkoutConfig,
    // Nothing may go on by itself in the background, and objects are never collected: others may borrow them.
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
  ];
}

/** Keys have one dot: a section and a name. */
export function configText(entries: readonly (readonly [key: string, value: string])[]): string {
  return entries
    .map(([key, value]) => {
      const [section = '', name = ''] = key.split('.');
      return `[${section}]\n\t${name} = ${quoteValue(value)}\n`;
    })
    .join('');
}

/** A config has no way to write NUL, and git reads a bare carriage return at an end as part of the line's. */
function quoteValue(value: string): string {
  const escaped = value
    .replaceAll('\0', '')
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

export const addAlternate = async (gitDir: string, folder: string): Promise<void> =>
  await appendFile(join(gitDir, 'objects', 'info', 'alternates'), alternateLine(folder));

/** Quoted where git would take the path for something else. */
function alternateLine(path: string): string {
  if (!/^["#]|\n/.test(path)) return `${path}\n`;
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"\n`;
}
