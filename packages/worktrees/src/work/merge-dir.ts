import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from '../checkout.ts';
import { orNull } from '../creation/files.ts';
import { configText } from '../creation/git-dirs.ts';
import { git } from '../git/git.ts';
import { readSmall } from '../repository/files.ts';

/** Settings of the person that decide what a merge gives. */
const SETTINGS =
  /^(?:merge\.(?:default|renormalize|renames|renamelimit|directoryrenames)|diff\.(?:renames|renamelimit))$/;
const DRIVER = /^merge\.(.+)\.driver$/s;

/**
 * A git directory of ours in the folder of a scratch, in which git merges as it would in the person's repository: with
 * its shallow boundary, its `info/attributes` and the person's settings for merges. Made when it is first asked for.
 */
export async function mergeDirIn(repository: Repository, folder: string): Promise<string> {
  const path = join(folder, 'git');
  if (existsSync(path)) return path;
  const config = await readConfig(repository);
  await mkdir(join(path, 'refs'), { recursive: true });
  await mkdir(join(path, 'info'));
  await writeFile(
    join(path, 'config'),
    `${configText(config.plain)}${config.drivers.map(refusing).join('')}`,
  );
  // Without it git takes the commits at the boundary for damaged, and merges as if two branches had nothing in common.
  await orNull(copyFile(join(repository.gitDir, 'shallow'), join(path, 'shallow')));
  const attributes = await readSmall(join(repository.gitDir, 'info', 'attributes'));
  if (attributes !== null) await writeFile(join(path, 'info', 'attributes'), attributes);
  await writeFile(join(path, 'HEAD'), 'ref: refs/heads/none\n');
  return path;
}

interface MergeConfig {
  readonly plain: readonly (readonly [key: string, value: string])[];
  /** The names of merge drivers that the person has defined. */
  readonly drivers: readonly string[];
}

async function readConfig({ gitDir }: Repository): Promise<MergeConfig> {
  const args = ['config', '--includes', '--list', '-z'];
  const { stdout } = await git({ gitDir, args, asPerson: true });
  const entries = new Map(
    stdout
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => {
        const end = entry.indexOf('\n');
        return end < 0 ? ([entry, 'true'] as const) : ([entry.slice(0, end), entry.slice(end + 1)] as const);
      }),
  );
  const format = entries.get('extensions.objectformat');
  return {
    plain: [
      ['core.repositoryformatversion', format === undefined ? '0' : '1'],
      ...(format === undefined ? [] : [['extensions.objectformat', format] as const]),
      ...[...entries].filter(([key]) => SETTINGS.test(key)),
    ],
    drivers: [...entries.keys()].flatMap((key) => DRIVER.exec(key)?.[1] ?? []),
  };
}

/** A driver is a program of the person and is not run on what agents wrote: its files conflict, and a person decides. */
const refusing = (driver: string): string =>
  `[merge "${driver.replaceAll(/["\\]/g, '\\$&')}"]\n\tname = ${JSON.stringify('not run by Reveille')}\n\tdriver = false\n`;
