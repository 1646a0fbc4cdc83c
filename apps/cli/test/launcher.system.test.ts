import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A folder that is gone afterwards. */
function folder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'reveille-launcher-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

function launch(program: string, cwd: string, env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(program, ['--version'], { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('[CLI1.6] bin/reveille works from anywhere, also through a link', () => {
  using place = folder();
  const fine = { status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string, stderr: '' };
  expect(launch(join(ROOT, 'bin/reveille'), place.path)).toEqual(fine);
  symlinkSync(join(ROOT, 'bin/reveille'), join(place.path, 'one'));
  symlinkSync('one', join(place.path, 'two'));
  expect(launch(join(place.path, 'two'), '/')).toEqual(fine);
});

/** A clone of its own, as far as the launcher looks. */
function cloneIn(path: string, installed: boolean): string {
  for (const file of ['bin/reveille', 'apps/cli/bin/reveille.cjs', 'scripts/require-node.cjs'])
    cpSync(join(ROOT, file), join(path, file));
  if (installed) mkdirSync(join(path, 'node_modules'));
  return join(path, 'bin/reveille');
}

test('[CLI1.6] a clone that is not set up says what to do, in one sentence', () => {
  using place = folder();
  expect(launch(cloneIn(place.path, false), '/')).toEqual({
    status: 1,
    stdout: '',
    stderr: `Reveille is not set up yet: run \`npm run setup\` in ${place.path} first.\n`,
  });
});

test('[CLI1.6] a Node that is too old, or none, ends in one sentence', () => {
  using place = folder();
  const reveille = cloneIn(place.path, true);
  const programs = join(place.path, 'programs');
  mkdirSync(programs);
  for (const program of ['dirname', 'readlink', 'sh'])
    symlinkSync(execFileSync('which', [program], { encoding: 'utf8' }).trim(), join(programs, program));
  const none = launch(reveille, '/', { PATH: programs });
  expect(none).toEqual({
    status: 1,
    stdout: '',
    stderr:
      'Reveille needs Node 24 or newer, and there is no node on the PATH: run `npm run setup`, or install it.\n',
  });
  // The real one, which takes itself for an old one.
  const old = join(place.path, 'old.cjs');
  writeFileSync(
    old,
    "const versions = { ...process.versions, node: '18.20.1' };\nObject.defineProperty(process, 'versions', { value: versions });\nObject.defineProperty(process, 'version', { value: 'v18.20.1' });\n",
  );
  writeFileSync(join(programs, 'node'), `#!/bin/sh\nexec "${process.execPath}" --require "${old}" "$@"\n`);
  chmodSync(join(programs, 'node'), 0o755);
  const { status, stdout, stderr } = launch(reveille, '/', { PATH: programs });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^Reveille needs Node 24 or newer; this is v18\.20\.1\. .*\n$/);
});
