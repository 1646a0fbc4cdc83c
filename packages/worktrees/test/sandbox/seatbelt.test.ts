import { expect, test } from 'vitest';
import { seatbeltArgv, seatbeltProfile, type SeatbeltPlan } from '../../src/sandbox/seatbelt.ts';

// The text only: nothing here has run on a Mac.
const plan: SeatbeltPlan = {
  mounts: [
    { kind: 'empty', at: '/p/repo', sealed: true },
    { kind: 'write', at: '/p/repo.worktrees/a "b"', from: '/p/repo.worktrees/a "b"' },
    { kind: 'read', at: '/p/repo/.git/objects', from: '/p/repo/.git/objects' },
  ],
  home: '/Users/me',
  own: ['/p/state'],
  tmp: '/private/tmp/x',
  network: 'off',
  ports: [4123],
};

test('[BND2.18] nothing is allowed but what is named; what shows comes after what hides', () => {
  const lines = seatbeltProfile(plan).split('\n');
  expect(lines.slice(0, 2)).toEqual(['(version 1)', '(deny default)']);
  const hides = lines.indexOf('(deny file-read* file-write* (subpath "/p/repo"))');
  expect(hides).toBeGreaterThan(0);
  expect(lines.indexOf('(allow file-read* (subpath "/p/repo/.git/objects"))')).toBeGreaterThan(hides);
  expect(lines).toContain(String.raw`(allow file-read* file-write* (subpath "/p/repo.worktrees/a \"b\""))`);
  expect(lines).toContain('(deny file-read* file-write* (subpath "/Users/me"))');
  expect(lines).toContain('(deny file-read* file-write* (subpath "/p/state"))');
});

test('[BND2.18] with the network off only the named ports are open', () => {
  const text = seatbeltProfile(plan);
  expect(text).toContain('(allow network-outbound (remote ip "localhost:4123"))');
  expect(text).not.toContain('(allow network*)');
  expect(seatbeltProfile({ ...plan, network: 'on' })).toContain('(allow network*)');
});

test('[BND2.18] the command stays an array', () => {
  expect(seatbeltArgv(plan, ['sh', '-c', 'x; y']).slice(-4)).toEqual(['--', 'sh', '-c', 'x; y']);
});
