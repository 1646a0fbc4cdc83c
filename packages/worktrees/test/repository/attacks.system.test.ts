import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { isRoot } from '../sandbox/here.ts';
import { attack, ATTACKS, type AttackResult } from './attacks.ts';

describe('a repository that says what is not so about itself is refused before anything is made of it', () => {
  for (const each of ATTACKS)
    test.skipIf(each.rootOnly && !isRoot)(`[${each.rule}] ${each.name}`, async () => {
      const { refusal, harm } = await attack(each);
      expect(refusal).toMatch(each.words);
      expect(harm).toEqual([]);
    });
});

const NOBODY = 65_534;
const DRIVER = fileURLToPath(new URL('./as-user.ts', import.meta.url));
/** Another user may not be able to read where these sources are. */
const canBeNobody =
  isRoot &&
  spawnSync('/bin/sh', ['-c', 'test -x "$0" && test -r "$1"', process.execPath, DRIVER], {
    uid: NOBODY,
    gid: NOBODY,
  }).status === 0;

describe.skipIf(!canBeNobody)('a normal user', () => {
  test('[BND6.15] is defended in the same way', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reveille-nobody-'));
    try {
      await chown(folder, NOBODY, NOBODY);
      const child = spawn(process.execPath, ['--conditions=source', DRIVER], {
        uid: NOBODY,
        gid: NOBODY,
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder, NODE_NO_WARNINGS: '1' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
      const results = JSON.parse(said) as AttackResult[];
      const expected = ATTACKS.filter(({ rootOnly }) => !rootOnly);
      expect(results.map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
      for (const [i, { name, refusal, harm }] of results.entries()) {
        expect(refusal, name).toMatch(expected[i]?.words ?? /^$/);
        expect(harm, name).toEqual([]);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
