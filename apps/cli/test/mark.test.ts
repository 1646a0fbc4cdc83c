import { describe, expect, test } from 'vitest';
import { marksOf } from '../src/chat/mark.ts';

const kin = (pid: number) => ({ pid, identity: `since ${pid}` });
const mark = (chat: number | null, conversation: string | null) => ({
  chat: chat === null ? null : kin(chat),
  conversation,
});

describe('[WAK6.24] the marks of a hook', () => {
  const outer = mark(1, 'outer');
  const silent = mark(1, null);
  const inner = mark(2, 'inner');
  test.each([
    ['its conversation', [outer, inner], 'outer', 1, [outer]],
    ['its conversation, from a process that nobody knows', [outer, inner], 'inner', 9, [inner]],
    ['no other conversation of the same process', [outer], 'another', 1, []],
    ['one of several chats in one process', [outer, mark(1, 'second')], 'second', 1, [mark(1, 'second')]],
    ['nothing of a chat that started its own', [outer], 'inner', 2, []],
    ['nothing of a chat above that told no conversation', [silent], 'inner', 2, []],
    ['nothing of a chat above, if it was told none itself', [outer], null, 2, []],
    ['its process, if the chat told the connection none', [silent, inner], 'outer', 1, [silent]],
    ['its process, if it was told none', [outer, inner], null, 1, [outer]],
    [
      'its own connections only, if another program inherited the id',
      [outer, mark(2, 'outer')],
      'outer',
      1,
      [outer],
    ],
    ['nothing without a process and a conversation', [mark(null, null), outer], null, null, []],
  ] as const)('%s', (_, marks, conversation, starter, expected) => {
    const origin = { conversation, starter: starter === null ? null : kin(starter) };
    expect(marksOf([...marks], origin)).toEqual(expected);
  });
});
