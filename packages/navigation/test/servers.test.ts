import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findServer } from '../src/servers.ts';

function folder() {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'navigation-servers-')));
  const program = (name: string, mode = 0o755): string => {
    const file = join(path, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, '#!/bin/sh\n');
    chmodSync(file, mode);
    return file;
  };
  return { path, program, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

const NONE = { configured: {}, folders: [], path: '' };

test('[NAV1.9] TypeScript’s server comes with us; the others are found on the path, if they can be run', async () => {
  using made = folder();
  made.program('clangd', 0o644);
  const gopls = made.program('gopls');
  const sources = { ...NONE, path: `relative:${made.path}` };
  expect(await findServer('typescript', NONE)).toMatchObject({
    argv: [expect.stringMatching(/tsc(?:\.exe)?$/), '--lsp', '--stdio'],
  });
  expect(await findServer('go', sources)).toMatchObject({ argv: [gopls], reads: [made.path] });
  expect(await findServer('cpp', sources)).toMatchObject({ missing: expect.stringContaining('cpp') });
  expect(await findServer('python', sources)).toMatchObject({
    missing: expect.stringContaining('basedpyright'),
  });
});

test('[NAV1.9] what was installed for us comes before the path, and the config before all', async () => {
  using own = folder();
  using path = folder();
  const named = path.program('other-server');
  path.program('gopls');
  const gopls = own.program('gopls');
  const sources = { ...NONE, folders: [own.path], path: path.path };
  expect(await findServer('go', sources)).toMatchObject({ argv: [gopls] });
  const configured = { go: ['other-server', '--fast'] };
  expect(await findServer('go', { ...sources, configured })).toMatchObject({ argv: [named, '--fast'] });
  const missing = { go: ['not-there'] };
  expect(await findServer('go', { ...sources, configured: missing })).toMatchObject({
    missing: expect.stringContaining('not-there'),
  });
});

test('[NAV1.9] a script is started with our Node, and its package can be read; no link is mounted', async () => {
  using made = folder();
  const script = made.program('node_modules/basedpyright/dist/server.js');
  mkdirSync(join(made.path, 'node_modules/.bin'));
  symlinkSync(script, join(made.path, 'node_modules/.bin/basedpyright-langserver'));
  symlinkSync(join(made.path, 'node_modules'), join(made.path, 'linked'));
  const found = await findServer('python', { ...NONE, path: join(made.path, 'linked/.bin') });
  expect(found).toMatchObject({
    argv: [process.execPath, script, '--stdio'],
    reads: [join(made.path, 'node_modules/basedpyright'), join(made.path, 'node_modules/.bin')],
  });
});
