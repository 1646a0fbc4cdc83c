import { expect, test } from 'vitest';
import { ageWords, healthLine, healthOf, healthWords, type WorkerHealth } from '@reveille/protocol';

const NOW = 10_000_000;
const health = (what: WorkerHealth['what'], also: Partial<WorkerHealth> = {}): WorkerHealth => ({
  what,
  text: '',
  at: NOW - 60_000,
  lastSign: NOW - 6 * 60_000 - 20_000,
  lastWords: 'I run the tests',
  ...also,
});

test('[HLT2.2] the same words everywhere: how long a worker has been silent, since what, and what it said last', () => {
  expect(healthWords(health('stuck', { text: 'in a call of bash' }), NOW)).toEqual({
    label: 'silent 6m',
    text: 'no sign of life for 6m, in a call of bash',
    lastWords: 'I run the tests',
  });
  expect(healthLine(health('silent', { text: 'asked why it is silent', lastWords: '' }), NOW)).toBe(
    'no sign of life for 6m, asked why it is silent',
  );
  expect(healthWords(health('looping', { text: 'made 30 calls' }), NOW)).toMatchObject({
    label: 'looping',
    text: 'made 30 calls',
  });
  expect(healthWords(health('errors', { text: '5 errors in a row' }), NOW).label).toBe('failing');
  expect([-5, 59_999, 60_000, 3_600_000, 90_000_000].map(ageWords)).toEqual(['0s', '59s', '1m', '1h', '1d']);
});

test('[HLT2.2] a run that has ended or rests is not said to be silent', () => {
  const stuck = health('stuck');
  expect(healthOf({ state: 'open', turn: {}, health: stuck })).toBe(stuck);
  expect(healthOf({ state: 'open', turn: null, health: stuck })).toBeNull();
  expect(healthOf({ state: 'ended', turn: {}, health: stuck })).toBeNull();
  expect(healthOf({ state: 'open', turn: {} })).toBeNull();
  expect(healthOf(null)).toBeNull();
});
