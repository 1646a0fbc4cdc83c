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

test('[NAV1.8] cargo runs the user’s compiler, whatever a project says; Ruby’s server, which runs the Gemfile, must be named', async () => {
  using made = folder();
  for (const name of ['rust-analyzer', 'ruby-lsp']) made.program(name);
  const sources = { ...NONE, path: made.path };
  const env = { RUSTC: 'rustc', RUSTC_WRAPPER: '', RUSTC_WORKSPACE_WRAPPER: '' };
  expect(await findServer('rust', sources)).toMatchObject({ env });
  expect(await findServer('ruby', sources)).toMatchObject({ missing: expect.stringContaining('name it') });
  const configured = { ruby: ['ruby-lsp'] };
  expect(await findServer('ruby', { ...sources, configured })).toMatchObject({
    argv: [join(made.path, 'ruby-lsp')],
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
  const sources = { ...NONE, path: join(made.path, 'linked/.bin') };
  const bin = join(made.path, 'node_modules/.bin');
  const alone = {
    argv: [process.execPath, script, '--stdio'],
    reads: [join(made.path, 'node_modules/basedpyright'), bin],
  };
  expect(await findServer('python', sources)).toMatchObject(alone);
  // With what it needs, that is, if it does not come with it.
  const manifest = join(made.path, 'node_modules/basedpyright/package.json');
  writeFileSync(manifest, '{"dependencies":{"other":"1.0.0"}}');
  const withOthers = { ...alone, reads: [join(made.path, 'node_modules'), bin] };
  expect(await findServer('python', sources)).toMatchObject(withOthers);
  for (const odd of ['{', '[]', '{"dependencies":null}', '{"dependencies":{}}']) {
    writeFileSync(manifest, odd);
    expect(await findServer('python', sources)).toMatchObject(alone);
  }
});
