import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { usedByTree } from '@reveille/navigation/memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALLOWED } from '../../src/doctor/allowed.ts';
import { ATTACKS, type Attack } from '../../src/doctor/attacks.ts';
import { tryAllowed, tryAttack, type Tried } from '../../src/doctor/matrix.ts';
import { confinementIn, makeScene, type Scene } from '../../src/doctor/scene.ts';
import type { Probe } from '../../src/sandbox/probe.ts';
import { runProcess } from '../../src/sandbox/process.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { found, hasSandbox, isRoot, unlessSkipped } from './here.ts';

const open = async (scene: Scene, setting: 'require' | 'off' = 'require'): Promise<Sandbox> =>
  openSandbox({ setting, warn: () => {}, home: scene.home, env: scene.env, measure: usedByTree });

/** What cannot be kept in here is known, and said by the doctor: it must be one of the gaps, and no other. */
const isKept = ({ got, gap }: Tried): boolean => got === 'refused' || (got === 'escaped' && gap !== null);

describe.skipIf(!hasSandbox)(`a process in the sandbox${unlessSkipped}`, () => {
  let scene: Scene;
  let sandbox: Sandbox;
  beforeAll(async () => {
    scene = await makeScene();
    sandbox = await open(scene);
  });
  afterAll(async () => {
    await sandbox.close();
    await scene[Symbol.asyncDispose]();
  });

  const refuse = async (group: string, attack: Attack): Promise<void> => {
    const tried = await tryAttack({ sandbox, scene, found, group, attack });
    expect(tried, JSON.stringify(tried)).toSatisfy(isKept);
  };

  test.each(ALLOWED)('[BND2.1] works: $name', async (allowed) => {
    expect(await tryAllowed(sandbox, scene, allowed)).toMatchObject({ got: 'works' });
  });

  test.each(ATTACKS['files']!)('[BND2.2] refused: $name', async (attack) => refuse('files', attack));
  test.each(ATTACKS['git']!)('[BND2.3] refused: $name', async (attack) => refuse('git', attack));
  test.each(ATTACKS['system']!)('[BND2.4] refused: $name', async (attack) => refuse('system', attack));
  test.each(ATTACKS['processes']!)('[BND2.5] refused: $name', async (attack) => refuse('processes', attack));
  test.each(ATTACKS['network']!)('[BND2.6] refused: $name', async (attack) => refuse('network', attack));
  test.each(ATTACKS['read-only agents']!)('[BND2.7] refused: $name', async (attack) =>
    refuse('read-only', attack),
  );

  test('[BND2.3] after all of that the person’s repository is whole', async () => {
    const git = (...args: string[]) =>
      spawnSync('git', args, {
        cwd: scene.checkout.repository.root,
        env: { PATH: process.env['PATH'], HOME: scene.folder },
        encoding: 'utf8',
      });
    expect(git('fsck', '--strict', '--full').status).toBe(0);
    expect(git('log', '--all', '--format=%s').stdout).toBe('first\n');
    expect(git('gc', '-q').status).toBe(0);
    expect(await readFile(join(scene.checkout.repository.root, 'a.txt'), 'utf8')).toBe('first\n');
  });

  test('[BND2.1] what was allowed happened outside too: the commit, the files, the credentials', async () => {
    const { path, agentGitDir } = scene.checkout;
    const log = spawnSync('git', ['log', '--format=%s'], {
      cwd: path,
      env: { PATH: process.env['PATH'], GIT_DIR: agentGitDir },
      encoding: 'utf8',
    });
    expect(log.stdout).toBe('work\nfirst\n');
    expect(await readFile(join(path, 'deep/er/new.txt'), 'utf8')).toBe('x\n');
    expect(await readFile(join(scene.home, '.agent/token'), 'utf8')).toBe('new\n');
  });
});

describe('the attacks themselves', () => {
  const biting = Object.entries(ATTACKS).flatMap(([group, attacks]) =>
    attacks.filter((attack) => attack.bites).map((attack) => ({ group, attack, name: attack.name })),
  );

  test.each(biting)('[BND2.17] succeeds where there is no sandbox: $name', async ({ group, attack }) => {
    await using scene = await makeScene();
    await using sandbox = await open(scene, 'off');
    const tried = await tryAttack({ sandbox, scene, found: { bubblewrap: null }, group, attack });
    expect(tried, JSON.stringify(tried)).toMatchObject({ got: 'escaped' });
  });
});

/** Bubblewrap's arguments with some of them taken out, or others put in their place. */
function mutate(argv: readonly string[], taken: readonly string[], put: readonly string[] = []): string[] {
  const at = argv.findIndex((_, i) => taken.every((arg, j) => argv[i + j] === arg));
  if (at < 0) throw new Error(`There is no ${taken.join(' ')} to take out.`);
  return [...argv.slice(0, at), ...put, ...argv.slice(at + taken.length)];
}

/** The third argument of the bootstrap, after its text. */
const unfiltered = (argv: readonly string[]): string[] => argv.with(argv.indexOf('-e') + 4, '');

interface Mutation {
  readonly without: string;
  readonly escapes: string;
  readonly change: (argv: readonly string[], scene: Scene) => string[];
  readonly only?: boolean;
}

const MUTATIONS: readonly Mutation[] = [
  {
    without: '--disable-userns and closed calls',
    escapes: 'make namespaces of its own',
    change: (argv) => mutate(unfiltered(argv), ['--disable-userns']),
    only: (found.bubblewrap?.host.canDisableUserns && found.bubblewrap.canFilter) ?? false,
  },
  {
    without: 'closed calls',
    escapes: 'make system calls that no agent needs',
    change: unfiltered,
    only: found.bubblewrap?.canFilter ?? false,
  },
  {
    without: 'a keyring of its own and closed calls',
    escapes: 'read the keys that the kernel keeps for the person',
    change: unfiltered,
    only: found.bubblewrap?.canFilter ?? false,
  },
  {
    without: '--cap-drop',
    escapes: 'have or gain privileges',
    change: (argv) => mutate(argv, ['--cap-drop', 'ALL']),
    only: isRoot,
  },
  {
    without: '--unshare-pid',
    escapes: 'read other processes',
    change: (argv) => mutate(argv, ['--unshare-pid']),
  },
  {
    without: '--unshare-net',
    escapes: 'reach this machine’s ports with the network off',
    change: (argv) => mutate(argv, ['--unshare-net']),
  },
  {
    without: 'a sealed /',
    escapes: 'write to the system’s folders',
    change: (argv) => mutate(argv, ['--remount-ro', '/']),
  },
  {
    without: 'a sealed /dev',
    escapes: 'write to the system’s folders',
    change: (argv) => mutate(argv, ['--remount-ro', '/dev']),
  },
  {
    without: 'a sealed checkout',
    escapes: 'make a folder in the person’s checkout',
    change: (argv, scene) => mutate(argv, ['--remount-ro', scene.checkout.repository.root]),
  },
  {
    without: 'read-only objects',
    escapes: 'delete the shared objects',
    change: (argv, scene) => {
      const objects = join(scene.checkout.repository.gitDir, 'objects');
      return mutate(argv, ['--ro-bind', objects], ['--bind', objects]);
    },
  },
  {
    without: 'a cover on /etc/shadow',
    escapes: 'read passwords and keys of the system',
    change: (argv) => mutate(argv, ['--ro-bind', '/dev/null', '/etc/shadow']),
    only: isRoot,
  },
  {
    without: 'a read-only /proc/sys',
    escapes: 'change settings of the kernel',
    change: (argv) => mutate(argv, ['--ro-bind', '/proc/sys', '/proc/sys']),
    only: isRoot,
  },
  {
    without: 'limits',
    escapes: 'write a file without end',
    change: (argv) => argv.map((arg) => (/^\d+:4=0,/.test(arg) ? '' : arg)),
    only: found.bubblewrap !== null && found.bubblewrap.perl !== null,
  },
  {
    without: 'a scope for abstract sockets',
    escapes: 'reach an abstract socket with the network on',
    // The first argument of the bootstrap, after its text.
    change: (argv) => argv.with(argv.indexOf('-e') + 2, '0'),
    only: found.bubblewrap?.canScope ?? false,
  },
];

describe.skipIf(!hasSandbox)(`the guards of the sandbox${unlessSkipped}`, () => {
  test.each(MUTATIONS.filter(({ only }) => only !== false))(
    '[BND2.17] without $without it can: $escapes',
    async ({ escapes, change }) => {
      await using scene = await makeScene();
      await using sandbox = await open(scene);
      const attack = Object.values(ATTACKS)
        .flat()
        .find(({ name }) => name === escapes)!;
      const confinement = confinementIn(scene, { loopback: [], ...attack.changes });
      const wrapped = await sandbox.wrap(['/bin/sh', '-c', attack.script], confinement);
      const { output } = await runProcess({ ...wrapped, argv: change(wrapped.argv, scene), status: false });
      await wrapped.dispose();
      const out =
        output.includes(scene.secret) || output.includes('ESCAPED') || (await scene.damage()).length > 0;
      expect(out, output).toBe(true);
    },
  );
});

/** Everything at once, on a machine that is busy. */
const ALL_MS = 600_000;
const NOBODY = 65_534;
const DRIVER = fileURLToPath(new URL('./as-user.ts', import.meta.url));

/** Another user may not be able to read where these sources are. */
const canBeNobody =
  isRoot &&
  spawnSync('/bin/sh', ['-c', 'test -x "$0" && test -r "$1"', process.execPath, DRIVER], {
    uid: NOBODY,
    gid: NOBODY,
  }).status === 0;

describe.skipIf(!hasSandbox || !canBeNobody)(
  `a normal user${unlessSkipped}${canBeNobody ? '' : ' (skipped: only root can become one)'}`,
  () => {
    test(
      '[BND2.16] is kept in by the same sandbox, and can do the same in it',
      { timeout: ALL_MS },
      async () => {
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
          const { probe, tried } = JSON.parse(said) as { probe: Probe; tried: Tried[] };
          expect(probe.kind).toBe('bubblewrap');
          expect(tried.filter(({ expected, got }) => expected !== got)).toEqual([]);
          expect(tried.length).toBe(ALLOWED.length + Object.values(ATTACKS).flat().length);
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      },
    );
  },
);
