import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkAfterKill, type Problem } from './checks.ts';
import { readEffects } from './effects.ts';
import { startVictim } from './driver.ts';
import { livingIn } from './processes.ts';
import { takeSnapshot } from './snapshot.ts';
import { chanceFrom } from './world.ts';

const SOURCE = fileURLToPath(new URL('./power-cut.c', import.meta.url));
const CUTS = 4;

/** Compiles the disk that forgets. Null: there is no compiler here, or nothing that can be loaded before a program. */
function compile(folder: string): string | null {
  if (process.platform !== 'linux') return null;
  const library = join(folder, 'power-cut.so');
  for (const compiler of ['cc', 'gcc', 'clang']) {
    try {
      execFileSync(compiler, ['-shared', '-fPIC', '-w', '-o', library, SOURCE, '-ldl'], { stdio: 'ignore' });
      return library;
    } catch {
      // Not this one.
    }
  }
  return null;
}

describe('a power cut', () => {
  const tools = mkdtempSync(join(tmpdir(), 'reveille-power-cut-'));
  const library = compile(tools);
  const isDemanded = process.env['REVEILLE_REQUIRE_COMPILER'] !== undefined;
  let folder: string;
  let disk: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reveille-crash-power-'));
    disk = join(folder, 'disk');
    mkdirSync(disk);
  });
  afterEach(() => {
    for (const { pid } of livingIn(folder)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true });
  });

  test.skipIf(!library && !isDemanded)(
    '[STO6.1] takes nothing that was acknowledged, and the next start goes on',
    async () => {
      expect(library, 'no C compiler is installed').not.toBe(null);
      const env = { LD_PRELOAD: library ?? '', POWER_CUT_DISK: disk };
      const chance = chanceFrom(1);
      let acknowledged = 0;
      for (let life = 1; life <= CUTS; life++) {
        const victim = startVictim([folder, String(life), '1'], env);
        await victim.first;
        await later(100 + chance() * 400);
        victim.child.kill('SIGKILL');
        await victim.ended;
        forgetWhatWasNotSynced();
        expect(whatIsMissing()).toEqual([]);
        acknowledged = acknowledgedIn(folder);
      }
      // Else the cuts came before there was anything to lose.
      expect(acknowledged).toBeGreaterThan(CUTS);
      const last = startVictim([folder, String(CUTS + 1), '1', 'finish'], env);
      expect(await last.ended).toMatchObject({ code: 0, stderr: '' });
      expect(whatIsMissing()).toEqual([]);
    },
    120_000,
  );

  /** What the database should hold and does not. Who was given what how often is asked by the other tests of this folder. */
  const whatIsMissing = (): Problem[] =>
    checkAfterKill(folder, takeSnapshot(folder)).filter(({ kind }) => kind !== 'doubled');

  /** The database becomes what the disk has of it. Its journal serves until the log is there, and is deleted then. */
  function forgetWhatWasNotSynced(): void {
    for (const name of readdirSync(folder)) if (name.startsWith('reveille.db')) rmSync(join(folder, name));
    for (const name of readdirSync(disk))
      if (/^reveille\.db(?:-wal)?$/.test(name)) copyFileSync(join(disk, name), join(folder, name));
    expect(existsSync(join(folder, 'reveille.db'))).toBe(true);
  }
});

function acknowledgedIn(folder: string): number {
  const effects = [...readEffects(folder).values()].flat();
  return effects.filter(({ words }) => words[0] === 'ack').length;
}
