import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

/** Opens a file, closes it, and says what was loaded for that. */
const PROGRAM = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
const { openSqlite } = await import('@reveille/stores');
const clock = { now: () => Date.now(), mono: () => performance.now(), after: () => () => {} };
const { close } = await openSqlite({ path: process.argv[1], clock });
await close();
console.log(JSON.stringify(loaded));
`;

test('[STO34] who writes into a file loads no client of a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-loading-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const flags = ['--conditions=source', '--input-type=module', '--eval', PROGRAM, join(folder, 'db')];
  const room = dirname(import.meta.dirname);
  const said = execFileSync(process.execPath, flags, { cwd: room, encoding: 'utf8' });
  const loaded = JSON.parse(said) as string[];
  expect(loaded.some((url) => url.endsWith('/src/sqlite/open.ts'))).toBe(true);
  expect(loaded.filter((url) => url.includes('/node_modules/pg'))).toEqual([]);
});
