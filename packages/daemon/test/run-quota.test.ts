import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RunId } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { RunQuota } from '../src/http/run-quota.ts';

const MB = 2 ** 20;
const limits = { runCallsPerSecond: 3_000, runOpenCalls: 4, runBodyBytes: 4 * MB };
const run = (n: number): RunId => `run_${n}` as RunId;
const requestWith = (headers: Record<string, string>): IncomingMessage =>
  Object.assign(new EventEmitter(), { headers }) as unknown as IncomingMessage;
const request = (bytes: number): IncomingMessage => requestWith({ 'content-length': String(bytes) });
const response = (): ServerResponse & EventEmitter => new EventEmitter() as ServerResponse & EventEmitter;

test('[BND7.25] bodies that a run sends at once are bounded in sum, and take nothing from other runs', () => {
  const quota = new RunQuota(limits, () => 0);
  const first = request(3 * MB);
  expect(quota.take(run(1), first, response())).toBeNull();
  expect(quota.take(run(1), request(3 * MB), response())).toMatchObject({ retryS: 1 });
  expect(quota.take(run(1), request(1_000), response())).toBeNull();
  expect(quota.take(run(2), request(3 * MB), response())).toBeNull();
  first.emit('close');
  expect(quota.take(run(1), request(3 * MB), response())).toBeNull();
});

test('[BND7.25] a body that does not say its length counts as the longest', () => {
  const quota = new RunQuota(limits, () => 0);
  expect(quota.take(run(1), requestWith({ 'transfer-encoding': 'chunked' }), response())).toBeNull();
  expect(quota.take(run(1), request(1_000), response())).toMatchObject({ retryS: 1 });
  expect(quota.take(run(2), request(1_000), response())).toBeNull();
});

test('[BND7.25] a long body counts as many calls', () => {
  const quota = new RunQuota({ ...limits, runCallsPerSecond: 30 }, () => 0);
  const sent = request(3 * MB);
  expect(quota.take(run(1), sent, response())).toBeNull();
  sent.emit('close');
  expect(quota.take(run(1), request(10), response())).toMatchObject({ retryS: 2 });
});

test('[BND7.25] a run has so many calls open, and no more', () => {
  const quota = new RunQuota(limits, () => 0);
  const open = Array.from({ length: 4 }, response);
  for (const each of open) expect(quota.take(run(1), request(10), each)).toBeNull();
  expect(quota.take(run(1), request(10), response())).toMatchObject({ retryS: 1 });
  expect(quota.take(run(2), request(10), response())).toBeNull();
  open[0]?.emit('close');
  expect(quota.take(run(1), request(10), response())).toBeNull();
});
