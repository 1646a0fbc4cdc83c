import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { usedByTree } from '@reveille/navigation/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { examine, type Finding } from '../../src/doctor/examine.ts';
import { formatDoctor } from '../../src/doctor/format.ts';
import { tryDoor } from '../../src/doctor/door.ts';
import { tryFileSystem } from '../../src/doctor/files.ts';
import { openDoor } from '../../src/door/door.ts';
import { git } from '../../src/git/git.ts';
import { hasSandbox, isRoot, unlessSkipped } from '../sandbox/here.ts';

let scratch: string;
beforeEach(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'reveille-doctor-test-')));
});
afterEach(async () => rm(scratch, { recursive: true, force: true }));

const named = (findings: readonly Finding[], name: string): Finding | undefined =>
  findings.find((finding) => finding.name === name);

describe('the doctor', () => {
  test('[BND6.1] looks at the system, the files and the sandbox, and leaves nothing behind', async () => {
    const root = join(scratch, 'repo');
    await mkdir(root);
    const place = { gitDir: join(root, '.git'), workTree: root };
    await git({ ...place, args: ['init', '-q'] });
    const author = {
      GIT_AUTHOR_NAME: 'x',
      GIT_AUTHOR_EMAIL: 'x',
      GIT_COMMITTER_NAME: 'x',
      GIT_COMMITTER_EMAIL: 'x',
    };
    await git({ ...place, args: ['commit', '-q', '--allow-empty', '-m', 'x'], env: author });
    const findings = await examine({ repositoryPath: root, attacks: false });
    expect(named(findings, 'git')).toMatchObject({
      verdict: 'good',
      got: expect.stringMatching(/^\d+\.\d+/),
    });
    expect(named(findings, 'Node.js')).toMatchObject({ verdict: 'good', got: process.versions.node });
    expect(named(findings, 'repository')).toMatchObject({ verdict: 'good', got: root });
    expect(findings.filter(({ area }) => area === 'files').map(({ name }) => name)).toEqual([
      'copies by reference',
      'tells upper from lower case',
      'symbolic links',
      'locks',
      'notices of changes',
      'folders by descriptor',
    ]);
    expect(named(findings, 'symbolic links')).toMatchObject({ verdict: 'good' });
    expect(named(findings, 'locks')).toMatchObject({ verdict: 'good' });
    expect(named(findings, 'sandbox')).toMatchObject({ verdict: hasSandbox ? 'good' : expect.any(String) });
    expect(named(findings, 'processes end with their run')).toMatchObject({
      got: expect.stringContaining(hasSandbox ? 'by the sandbox' : ''),
    });
    expect(named(findings, 'what a run takes is bounded in sum')).toMatchObject({
      got: expect.stringMatching(/^by (?:control groups|a look every second)/),
    });
    expect(await readdir(scratch)).toEqual(['repo']);
    expect(await readdir(root)).toEqual(['.git']);
  });

  test('[BND6.1] says what is wrong with a place that is no repository, and looks at the rest', async () => {
    const findings = await examine({ repositoryPath: scratch, attacks: false });
    expect(named(findings, 'repository')).toMatchObject({
      verdict: 'bad',
      advice: expect.stringContaining('not in a git repository'),
    });
    expect(named(findings, 'git')).toMatchObject({ verdict: 'good' });
  });

  test('[BND6.1] tries the file system where the worktrees will be, though they are not there yet', async () => {
    const abilities = await tryFileSystem(join(scratch, 'not', 'yet'));
    expect(abilities.map(({ has }) => typeof has)).toEqual(Array.from({ length: 6 }, () => 'boolean'));
    expect(await readdir(scratch)).toEqual([]);
    await expect(tryFileSystem('/proc/self')).rejects.toThrow();
  });

  test('[BND6.4] tries the ways out of the door of file tools, also where there is no sandbox', async () => {
    const tried = await tryDoor();
    expect(tried.filter(({ expected, got }) => got !== expected)).toEqual([]);
    expect(tried.length).toBeGreaterThan(15);
  });

  test('[BND6.4] says which way the door holds folders here', async () => {
    using door = openDoor(scratch, { access: 'read' });
    const found = (await tryFileSystem(scratch)).find(({ name }) => name === 'folders by descriptor');
    expect(found).toMatchObject({ has: door.way === 'descriptor' });
  });

  test.skipIf(!hasSandbox)(
    `[BND6.2] tries every attack and everything that must work${unlessSkipped}`,
    { timeout: 600_000 },
    async () => {
      const findings = (await examine({ measure: usedByTree })).filter(({ area }) => area === 'boundary');
      expect(findings.length).toBeGreaterThan(60);
      expect(findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
      const weak = findings.filter(({ verdict }) => verdict === 'weak').map(({ name }) => name);
      if (isRoot) expect(weak).toContain('processes: start processes without end');
      const sums = findings.filter(({ name }) => /many processes|more processes/.test(name));
      expect(sums.map(({ got }) => got)).toEqual(['refused', 'refused']);
      const text = formatDoctor(findings);
      expect(text).toContain('files: read the person’s checkout');
      expect(text).toContain('file tools: read through a link');
      expect(text).not.toContain('BAD');
    },
  );
});
