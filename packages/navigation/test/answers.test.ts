import { expect, test } from 'vitest';
import { Answers } from '../src/lsp/answers.ts';

test('[NAV3.26] answers are kept up to what they weigh together, the last one in any case', () => {
  const answers = new Answers<string>(10, ({ length }) => length);
  answers.keep('a', 1, 'aaaa');
  answers.keep('b', 1, 'bbbb');
  answers.keep('a', 1, 'aaa');
  expect([answers.get('a', 1), answers.get('b', 1), answers.get('a', 2)]).toEqual(['aaa', 'bbbb', null]);
  answers.keep('c', 1, 'cccc');
  expect(['a', 'b', 'c'].map((key) => answers.has(key))).toEqual([true, false, true]);
  answers.keep('d', 1, 'd'.repeat(20));
  expect(['a', 'c', 'd'].map((key) => answers.has(key))).toEqual([false, false, true]);
});
