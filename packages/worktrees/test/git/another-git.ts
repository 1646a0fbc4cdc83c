import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/**
 * Runs `work` with another git first on the PATH: a shell script, in which `$GIT` is the real one. Tests of one file run
 * one after another, so nobody else sees it.
 */
export async function withAnotherGit<T>(folder: string, script: string, work: () => Promise<T>): Promise<T> {
  const before = process.env['PATH'] ?? '';
  const real = before
    .split(delimiter)
    .map((entry) => join(entry, 'git'))
    .find((path) => existsSync(path));
  const bin = join(folder, 'another-git');
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, 'git'), `#!/bin/sh\nGIT='${real}'\n${script}\n`);
  await chmod(join(bin, 'git'), 0o755);
  process.env['PATH'] = `${bin}${delimiter}${before}`;
  try {
    return await work();
  } finally {
    process.env['PATH'] = before;
  }
}
