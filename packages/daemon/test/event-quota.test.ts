import { expect, test } from 'vitest';
import type { ExecutorEvent } from '@reveille/core';
import { EventQuota } from '../src/dashboard/event-quota.ts';

const touched = (length: number): ExecutorEvent => ({ type: 'file_touched', path: 'x'.repeat(length) });

test('[BND7.32] an agent that tells of more than anybody can read is cut short, and how much is said once', () => {
  let now = 0;
  const quota = new EventQuota(() => now);
  let taken = 0;
  for (let i = 0; i < 10_000; i++) if (quota.takes(touched(3_000))) taken++;
  expect(taken).toBeGreaterThan(100);
  expect(taken).toBeLessThan(1_000);
  expect(quota.leftOut()).toBe(0);
  now += 10_000;
  expect(quota.takes(touched(10))).toBe(true);
  expect([quota.leftOut(), quota.leftOut()]).toEqual([10_000 - taken, 0]);
});

test('[BND7.32] what decides something is never left out', () => {
  const quota = new EventQuota(() => 0);
  let taken = 0;
  while (quota.takes(touched(3_000)))
    expect(taken++, 'there is no end to what it takes').toBeLessThan(1_000_000);
  const events: ExecutorEvent[] = [
    { type: 'turn_ended', turn: 1, lastWords: 'x'.repeat(8_000) },
    { type: 'usage', id: '1', tokens: 1, usd: null },
    { type: 'failed', class: 'network', message: 'x' },
    { type: 'permission_asked', id: 'a', what: 'x' },
    { type: 'exited', detail: '' },
  ];
  for (const event of events) expect(quota.takes(event)).toBe(true);
  for (const text of ['output', 'thought'] as const)
    expect(quota.takes({ type: text, text: '' })).toBe(false);
});

test('[BND7.32] an honest agent notices nothing: ten minutes of work, ten calls and ten stretches of words in a second', () => {
  let now = 0;
  const quota = new EventQuota(() => now);
  let leftOut = 0;
  const take = (event: ExecutorEvent): void => void (leftOut += quota.takes(event) ? 0 : 1);
  for (let second = 0; second < 600; second++, now += 1_000)
    for (let i = 0; i < 10; i++) {
      take({ type: 'output', text: 'x'.repeat(4_000) });
      take({ type: 'tool_call', id: 'a', name: 'read', digest: 'x'.repeat(300) });
      take({ type: 'tool_end', id: 'a', failed: false, news: true });
    }
  expect(leftOut).toBe(0);
});
