import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('[OBS1.4] what was said before a crash is there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-log-'));
  const path = join(folder, 'daemon.log');
  try {
    const script = `
      import { openLog } from '@reveille/daemon';
      const log = openLog({ path: process.argv[1], level: 'info', maxBytes: 1e6, maxFiles: 2 });
      for (let i = 0; i < 500; i++) log.info('said', { i });
      process.kill(process.pid, 'SIGKILL');
      for (;;);`;
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    const args = ['--conditions=source', '--input-type=module', '-e', script, path];
    expect(spawnSync(process.execPath, args, { cwd }).signal).toBe('SIGKILL');
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const said = lines.map((line) => (JSON.parse(line) as { i: number }).i);
    expect(said).toEqual(Array.from({ length: 500 }, (_, i) => i));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
