import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LANGUAGES } from '../src/languages.ts';
import { Connection } from '../src/lsp/connection.ts';
import { ServerSession } from '../src/lsp/session.ts';
import { findServer, type ServerSpec } from '../src/servers.ts';
import { until } from './processes.ts';
import { Rig } from './rig.ts';

const FILES = {
  'package.json': '{ "name": "a", "dependencies": { "lodash": "4.0.0" } }',
  'a.js': "import _ from 'lodash';\nexport const x = _.now();\nx;\n",
};

/** Asks a server in a home of its own, with an npm that writes down where it was called. */
async function asked(rig: Rig, name: string, { argv, initializationOptions, settings }: ServerSpec) {
  const { root } = rig.tree(name, FILES);
  const bin = join(rig.home, `bin-${name}`);
  mkdirSync(bin);
  const ran = join(rig.home, `ran-${name}`);
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$PWD $@" >> ${ran}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: join(rig.home, `home-${name}`) };
  const launched = { argv, env, cwd: root, seesUs: true, dispose: async () => undefined };
  const times = { startMs: 60_000, hangMs: 60_000 };
  const connection = await Connection.open({ root, launched, initializationOptions, settings, ...times });
  const session = new ServerSession(connection, { language: LANGUAGES[0]!, root });
  session.open('a.js', FILES['a.js']);
  await session.references({ path: 'a.js', line: 2, column: 14 });
  return {
    busy: () => session.busy,
    ran: () => existsSync(ran) && readFileSync(ran, 'utf8').includes('types'),
    [Symbol.asyncDispose]: async () => {
      connection.close();
      await connection.ended;
    },
  };
}

test('[NAV1.8] nothing is fetched for a server: TypeScript’s is told to leave types alone', async () => {
  await using rig = await Rig.open({ sandbox: 'off' });
  const spec = await findServer('typescript', { configured: {}, folders: [], path: '' });
  if ('missing' in spec) throw new Error(spec.missing);
  await using held = await asked(rig, 'held', spec);
  // One that is not told does so at once; when it has, the other would have long before.
  await using free = await asked(rig, 'free', { ...spec, settings: {} });
  await until(() => free.ran());
  expect(held.ran()).toBe(false);
  expect(held.busy()).toBe(false);
});
