import { expect, test } from 'vitest';
import type { Finding } from '../../src/doctor/examine.ts';
import { formatDoctor } from '../../src/doctor/format.ts';

const good: Finding = {
  area: 'boundary',
  name: 'files: read the home',
  verdict: 'good',
  expected: 'refused',
  got: 'refused',
  advice: '',
};

test('[BND6.3] the report says by area what holds, and what to do about what does not', () => {
  const text = formatDoctor([
    { area: 'system', name: 'git', verdict: 'good', expected: '2.38 or newer', got: '2.39.5', advice: '' },
    {
      area: 'sandbox',
      name: 'sandbox',
      verdict: 'weak',
      expected: 'bubblewrap',
      got: 'seatbelt',
      advice: 'Not tested.',
    },
    good,
    { ...good, name: 'processes: fork', verdict: 'bad', got: 'escaped', advice: 'ESCAPED' },
  ]);
  expect(text).toBe(`System
  ok    git  2.39.5

Sandbox
  weak  sandbox  seatbelt, expected bubblewrap
        Not tested.

What is enforced here (each was tried)
  ok    files: read the home  refused
  BAD   processes: fork       escaped, expected refused
        ESCAPED

1 of 4 do not hold.
`);
});

test('[BND6.3] where nothing is enforced it says so', () => {
  const text = formatDoctor([
    {
      area: 'sandbox',
      name: 'sandbox',
      verdict: 'bad',
      expected: 'bubblewrap',
      got: 'none',
      advice: 'Install it.',
    },
  ]);
  expect(text).toContain('Nothing keeps the commands of agents in their worktree here');
});

test('[BND6.3] what an attack said cannot write on the terminal', () => {
  const text = formatDoctor([
    { ...good, verdict: 'bad', got: 'escaped', advice: 'a\u001b]52;c;x\u0007\r\nb\u202ec' },
  ]);
  expect(text).toContain('a ]52;c;x b c');
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('[BND6.3] if all holds it says how much', () => {
  expect(formatDoctor([good, { ...good, verdict: 'weak' }])).toContain(
    '1 hold, 1 are weaker than they could be.',
  );
});
