import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confinementIn, makeScene, type Scene } from '../../src/doctor/scene.ts';
import { callNumber } from '../../src/sandbox/seccomp.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { found, hasSandbox, isRoot, unlessSkipped } from './here.ts';

const canFilter = found.bubblewrap?.canFilter ?? false;
const DRIVER = fileURLToPath(new URL('./key-holder.ts', import.meta.url));
const NOBODY = 65_534;

describe.skipIf(!hasSandbox || !canFilter)(`system calls in the sandbox${unlessSkipped}`, () => {
  let scene: Scene;
  let sandbox: Sandbox;
  beforeAll(async () => {
    scene = await makeScene();
    sandbox = await openSandbox({ setting: 'require', warn: () => {}, home: scene.home, env: scene.env });
  });
  afterAll(async () => {
    await sandbox.close();
    await scene[Symbol.asyncDispose]();
  });

  /** Runs a program of these machine instructions, which ends with the error number of its call. */
  const runCode = async (hex: string): Promise<number | null> => {
    const path = join(scene.checkout.path, 'tiny');
    const code = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    const header = Buffer.alloc(120);
    header.write('7f454c4602010100', 0, 'hex');
    header.writeUInt16LE(2, 16);
    header.writeUInt16LE(62, 18);
    header.writeUInt32LE(1, 20);
    header.writeBigUInt64LE(0x40_0078n, 24);
    header.writeBigUInt64LE(64n, 32);
    header.writeUInt16LE(64, 52);
    header.writeUInt16LE(56, 54);
    header.writeUInt16LE(1, 56);
    header.writeUInt32LE(1, 64);
    header.writeUInt32LE(5, 68);
    header.writeBigUInt64LE(0x40_0000n, 80);
    header.writeBigUInt64LE(0x40_0000n, 88);
    header.writeBigUInt64LE(BigInt(120 + code.length), 96);
    header.writeBigUInt64LE(BigInt(120 + code.length), 104);
    header.writeBigUInt64LE(0x1000n, 112);
    writeFileSync(path, Buffer.concat([header, code]));
    chmodSync(path, 0o755);
    return (await sandbox.run([path], confinementIn(scene))).code;
  };
  // xor ebx,ebx; xor edi,edi; the call; neg eax; mov edi,eax; mov eax,60; syscall
  const ending = 'f7d8 89c7 b83c000000 0f05';

  test.runIf(process.arch === 'x64')(
    '[BND2.20] the 32-bit calls of the same kernel are closed too',
    async () => {
      // mov eax,288 (keyctl); int 0x80
      expect(await runCode(`31db 31ff b820010000 cd80 ${ending}`)).toBe(1);
      // mov eax,20 (getpid); int 0x80; it works: a number of its own, and no error
      expect(await runCode(`31db 31ff b814000000 cd80 85c0 7902 ${ending} 31ff b83c000000 0f05`)).not.toBe(1);
    },
  );

  test.runIf(process.arch === 'x64')('[BND2.20] and so are the x32 calls', async () => {
    // mov eax,0x400000fa (keyctl); syscall
    expect(await runCode(`31db 31ff b8fa000040 0f05 ${ending}`)).toBe(38);
  });

  test('[BND2.20] a program that brings a sandbox of its own has user namespaces, and still no keys', async () => {
    const script = `unshare -U true && echo NESTED; perl -e 'print syscall(${callNumber('keyctl')}, 0, -3, 1), "\\n"'`;
    const { output } = await sandbox.run(script, confinementIn(scene, { nested: true }));
    expect(output).toBe('NESTED\n-1\n');
    const closed = await sandbox.run(script, confinementIn(scene));
    expect(closed.output).toMatch(/unshare: .*\n-1\n$/);
  });

  test('[BND2.20] threads, processes, sockets and terminals work', async () => {
    const script = [
      String.raw`node -e 'new (require("worker_threads").Worker)("console.log(1)", { eval: true })'`,
      String.raw`perl -e 'socket(my $s, $_, 1, 0) or print "no $_\n" for 1, 2, 10; my $p = fork; exit 0 unless $p; waitpid $p, 0; print 2, "\n"'`,
      String.raw`perl -e 'open(my $t, "+<", "/dev/ptmx") and print 3, "\n"'`,
    ].join('\n');
    expect((await sandbox.run(script, confinementIn(scene))).output).toBe('1\n2\n3\n');
  });
});

/**
 * A person with a key in their session keyring, whose process opens the sandbox. `user` is the user id to be; keys are
 * added to a keyring that is made for this and gone with the process.
 */
function readByKeyHolder(folder: string, user: number | null): string {
  const [keyctl, addKey] = [callNumber('keyctl'), callNumber('add_key')];
  const perl = `my $u = shift; if ($u) { $( = $u; $) = "$u $u"; $< = $u; $> = $u; }
    syscall(${keyctl}, 1, 0) > 0 or die "join: $!";
    my $key = syscall(${addKey}, my $t = "user", my $n = "canary", my $s = "KEY-CANARY", 10, -3);
    $key > 0 or die "add: $!"; exec @ARGV, $key`;
  return execFileSync(
    '/usr/bin/perl',
    ['-e', perl, String(user ?? 0), process.execPath, '--conditions=source', DRIVER],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder, NODE_NO_WARNINGS: '1' },
      encoding: 'utf8',
    },
  );
}

const canBeNobody =
  isRoot && spawnSync('/bin/sh', ['-c', 'test -r "$0"', DRIVER], { uid: NOBODY, gid: NOBODY }).status === 0;

describe.skipIf(!hasSandbox || !canFilter)(`the person’s keyring${unlessSkipped}`, () => {
  test.each([
    ['as this user', null],
    ...(canBeNobody ? [['as another user', NOBODY] as const] : []),
  ] as const)('[BND2.20] is read outside and not inside, %s', (_, user) => {
    const folder = mkdtempSync(join(tmpdir(), 'reveille-keys-'));
    try {
      if (user !== null) chownSync(folder, user, user);
      const said = JSON.parse(readByKeyHolder(folder, user)) as { off: string; on: string };
      expect(said.off).toContain('KEY-CANARY');
      expect(said.on).not.toContain('KEY-CANARY');
      expect(said.on).toMatch(/key \d+: -1/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
