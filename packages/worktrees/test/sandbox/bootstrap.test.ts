import { describe, expect, test } from 'vitest';
import { bootstrapped, canLimit, type Bootstrap } from '../../src/sandbox/bootstrap.ts';

const bootstrap: Bootstrap = {
  perl: '/usr/bin/perl',
  prlimit: '/usr/bin/prlimit',
  node: '/usr/bin/node',
  limits: { processes: 100, memoryBytes: 200, fileBytes: 300, openFiles: 400 },
  scope: false,
  filter: 'none',
  doors: [],
};

const OPTIONS = ['--core=0', '--nproc=100', '--data=200', '--fsize=300', '--nofile=400', '--'];

describe('the bootstrap', () => {
  test('[BND2.10] sets the limits itself where there is Perl', () => {
    const [perl, flag, , scope, limits, filter, doors, ...command] = bootstrapped(['make', 'all'], bootstrap);
    expect([perl, flag, scope, filter, doors]).toEqual(['/usr/bin/perl', '-e', '0', '', '']);
    expect(command).toEqual(['make', 'all']);
    expect(limits).toMatch(/^\d+:4=0,6=100,2=200,1=300,7=400$/);
  });

  test('[BND2.10] leaves them to prlimit where there is none, and to nobody where there is neither', () => {
    expect(bootstrapped(['make'], { ...bootstrap, perl: null })).toEqual([
      '/usr/bin/prlimit',
      ...OPTIONS,
      'make',
    ]);
    expect(bootstrapped(['make'], { ...bootstrap, perl: null, prlimit: null })).toEqual(['make']);
    expect(canLimit({ perl: null, prlimit: null })).toBe(false);
    expect(canLimit({ perl: null, prlimit: '/usr/bin/prlimit' })).toBe(true);
  });

  test('[BND2.8] is told which port leads to which socket, and is Node where there is no Perl and a door', () => {
    const doors = [[4000, '/run/reveille/4000'] as const, [3128, '/run/reveille/3128'] as const];
    const list = '4000=/run/reveille/4000,3128=/run/reveille/3128';
    expect(bootstrapped(['make'], { ...bootstrap, doors, scope: true }).slice(3)).toEqual([
      '1',
      expect.any(String),
      '',
      list,
      'make',
    ]);
    const [, ...rest] = bootstrapped(['make'], { ...bootstrap, doors, perl: null });
    expect(rest.slice(0, OPTIONS.length)).toEqual(OPTIONS);
    expect(rest.slice(OPTIONS.length)).toEqual(['/usr/bin/node', '-e', expect.any(String), list, 'make']);
  });
});
