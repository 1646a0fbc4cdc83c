import { describe, expect, test } from 'vitest';
import { bwrapArgv, type Host, type Plan } from '../../src/sandbox/argv.ts';

const host: Host = {
  bwrap: '/usr/bin/bwrap',
  canSize: true,
  canDisableUserns: true,
  proc: [{ kind: 'read', at: '/proc/sys', from: '/proc/sys' }],
  root: false,
};

const plan: Plan = {
  system: [
    { kind: 'read', at: '/usr', from: '/usr' },
    { kind: 'link', at: '/bin', to: 'usr/bin' },
    { kind: 'read', at: '/etc', from: '/etc' },
    { kind: 'read', at: '/etc/shadow', from: '/dev/null' },
    { kind: 'empty', at: '/etc/ssl/private', sealed: true },
  ],
  mounts: [
    { kind: 'write', at: '/p/repo.worktrees/mine', from: '/p/repo.worktrees/mine' },
    { kind: 'empty', at: '/p/repo.worktrees', sealed: true },
    { kind: 'read', at: '/p/repo/.git/objects', from: '/p/repo/.git/objects' },
    { kind: 'empty', at: '/p/repo', sealed: true },
  ],
  home: '/home/me',
  tmp: null,
  cwd: '/p/repo.worktrees/mine',
  sharesNetwork: false,
  nested: false,
  emptyBytes: 2 * 1024 ** 3,
  status: false,
  env: {},
};

/** Where a run of arguments begins; -1 if it is nowhere. */
const at = (argv: readonly string[], ...wanted: string[]): number =>
  argv.findIndex((_, i) => wanted.every((arg, j) => argv[i + j] === arg));

const has = (argv: readonly string[], ...wanted: string[]): boolean => at(argv, ...wanted) >= 0;

describe('the command line of bubblewrap', () => {
  test('[BND2.4] nothing of our namespaces, capabilities and terminal is shared', () => {
    const argv = bwrapArgv(host, plan, ['true']);
    for (const flag of ['user', 'pid', 'ipc', 'uts', 'net']) expect(argv).toContain(`--unshare-${flag}`);
    expect(argv).toContain('--unshare-cgroup-try');
    expect(has(argv, '--cap-drop', 'ALL')).toBe(true);
    for (const flag of ['--new-session', '--die-with-parent', '--disable-userns'])
      expect(argv).toContain(flag);
  });

  test('[BND2.4] the root of the file system is never mounted as a whole, and is sealed at last', () => {
    const argv = bwrapArgv(host, plan, ['true']);
    expect(has(argv, '--ro-bind', '/', '/')).toBe(false);
    expect(has(argv, '--bind', '/', '/')).toBe(false);
    const seal = at(argv, '--remount-ro', '/');
    const lastMount = Math.max(
      ...['--bind', '--ro-bind', '--tmpfs', '--symlink', '--proc', '--dev'].map((flag) =>
        argv.lastIndexOf(flag),
      ),
    );
    expect(seal).toBeGreaterThan(lastMount);
  });

  test('[BND2.2] what hides comes before what is shown in it, in whatever order they were named', () => {
    for (const mounts of [plan.mounts, plan.mounts.toReversed()]) {
      const argv = bwrapArgv(host, { ...plan, mounts }, ['true']);
      expect(at(argv, '--tmpfs', '/p/repo')).toBeLessThan(at(argv, '--ro-bind', '/p/repo/.git/objects'));
      expect(at(argv, '--tmpfs', '/p/repo.worktrees')).toBeLessThan(
        at(argv, '--bind', '/p/repo.worktrees/mine'),
      );
      expect(at(argv, '--bind', '/p/repo.worktrees/mine')).toBeLessThan(
        at(argv, '--remount-ro', '/p/repo.worktrees'),
      );
      expect(has(argv, '--remount-ro', '/p/repo')).toBe(true);
      expect(has(argv, '--remount-ro', '/home/me')).toBe(false);
    }
  });

  test('[BND2.2] a later mount of a place replaces an earlier one', () => {
    const mounts = [
      ...plan.mounts,
      { kind: 'read', at: '/p/repo.worktrees/mine', from: '/p/repo.worktrees/mine' } as const,
    ];
    const argv = bwrapArgv(host, { ...plan, mounts }, ['true']);
    expect(has(argv, '--bind', '/p/repo.worktrees/mine')).toBe(false);
    expect(has(argv, '--ro-bind', '/p/repo.worktrees/mine', '/p/repo.worktrees/mine')).toBe(true);
  });

  test('[BND2.4] secrets of the system are covered after the folder they are in, and the kernel’s settings after /proc', () => {
    const argv = bwrapArgv(host, plan, ['true']);
    expect(at(argv, '--ro-bind', '/etc', '/etc')).toBeLessThan(
      at(argv, '--ro-bind', '/dev/null', '/etc/shadow'),
    );
    expect(has(argv, '--remount-ro', '/etc/ssl/private')).toBe(true);
    expect(at(argv, '--proc', '/proc')).toBeLessThan(at(argv, '--ro-bind', '/proc/sys', '/proc/sys'));
  });

  test('[BND2.6] the network is shared only if it is to be', () => {
    expect(bwrapArgv(host, { ...plan, sharesNetwork: true }, ['true'])).not.toContain('--unshare-net');
  });

  test('[BND2.4] user namespaces are left only to a program that brings a sandbox of its own', () => {
    expect(bwrapArgv(host, { ...plan, nested: true }, ['true'])).not.toContain('--disable-userns');
    expect(has(bwrapArgv(host, { ...plan, nested: true }, ['true']), '--ro-bind', '/proc/sys')).toBe(false);
    expect(
      has(bwrapArgv({ ...host, root: true }, { ...plan, nested: true }, ['true']), '--ro-bind', '/proc/sys'),
    ).toBe(true);
    expect(bwrapArgv({ ...host, canDisableUserns: false }, plan, ['true'])).not.toContain('--disable-userns');
  });

  test('[BND2.10] what is in memory has a size, where bubblewrap can give it one', () => {
    const argv = bwrapArgv(host, plan, ['true']);
    for (const place of ['/tmp', '/home/me', '/dev/shm']) {
      const i = at(argv, '--tmpfs', place);
      expect(argv.slice(i - 4, i)).toEqual(['--size', String(2 * 1024 ** 3), '--perms', '0700']);
    }
    expect(bwrapArgv({ ...host, canSize: false }, plan, ['true'])).not.toContain('--size');
  });

  test('[BND2.12] what the command is given stays one argument each, and comes last', () => {
    const command = ['printf', '%s', '$(id); `id` && "quoted" --bind / /', '--', ''];
    const argv = bwrapArgv(host, plan, command);
    expect(argv.slice(-command.length)).toEqual(command);
  });

  test('[BND2.1] a folder can stand for /tmp, so that the next command finds what this one left', () => {
    const argv = bwrapArgv(host, { ...plan, tmp: '/state/tmp' }, ['true']);
    expect(has(argv, '--bind', '/state/tmp', '/tmp')).toBe(true);
    expect(has(argv, '--tmpfs', '/tmp')).toBe(false);
  });
});
