import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { acquirePostgres } from './postgres-server.ts';

const script = (...lines: string[]): string[] => [
  '--input-type=module',
  '-e',
  [
    `import { acquirePostgres } from ${JSON.stringify(join(import.meta.dirname, 'postgres-server.ts'))};`,
    ...lines,
  ].join('\n'),
];
const bare = { ...process.env, REVEILLE_TEST_PG_URL: '' };

describe('the Postgres of the tests', () => {
  it('[STO26] says what to install where there is none, and fails where one is demanded', () => {
    const say = script(`console.log((await acquirePostgres({ folders: [] })).reason);`);
    const skipped = spawnSync(process.execPath, say, {
      env: { ...bare, REVEILLE_REQUIRE_POSTGRES: '' },
      encoding: 'utf8',
    });
    expect(skipped.stdout).toContain('install one');
    const failed = spawnSync(process.execPath, say, {
      env: { ...bare, REVEILLE_REQUIRE_POSTGRES: '1' },
      encoding: 'utf8',
    });
    expect(failed.status).not.toBe(0);
    expect(failed.stderr).toContain('install one');
  });

  it('[STO26] is gone when the process that asked for it is killed', { timeout: 30_000 }, async () => {
    const here = await acquirePostgres();
    if (here.url === null || process.env['REVEILLE_TEST_PG_URL']) return;
    await here.release();
    const asking = script(`console.log((await acquirePostgres()).url);`, `setInterval(() => {}, 1000);`);
    const child = spawn(process.execPath, asking, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [data] = (await once(child.stdout, 'data')) as [Buffer];
    const folder = new URL(data.toString().trim()).searchParams.get('host') ?? '';
    expect(existsSync(join(folder, 'data', 'postmaster.pid'))).toBe(true);
    child.kill('SIGKILL');
    for (let tries = 0; existsSync(folder) && tries < 200; tries++) await sleep(50);
    expect(existsSync(folder)).toBe(false);
  });
});
