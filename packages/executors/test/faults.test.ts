import { expect, test } from 'vitest';
import { faultOf } from '../src/builtin/faults.ts';
import type { Endpoint } from '../src/builtin/endpoint.ts';
import { Model } from '../src/builtin/model.ts';
import { realClock } from './stand.ts';
import { contextOf, shownUrl, urlOf } from '../src/builtin/endpoint.ts';

const endpoint: Endpoint = {
  provider: 'anthropic',
  baseUrl: 'http://user:pass@127.0.0.1:1/',
  model: 'm',
  apiKey: () => 'sk-secret',
  keyName: 'KEY',
  contextTokens: null,
  maxOutputTokens: null,
  price: null,
};

const refused = (statusCode: number, message = 'no', also: object = {}): Error =>
  Object.assign(new Error(message), { statusCode, ...also });

test.for([
  [401, 'no', 'auth', false],
  [403, 'no', 'auth', false],
  [402, 'no', 'auth', false],
  [429, 'slow down', 'rate_limit', true],
  [429, 'You exceeded your current quota: insufficient_quota', 'auth', false],
  [400, 'bad', 'invalid', false],
  [404, 'model not found', 'invalid', false],
  [408, 'late', 'network', true],
  [500, 'oops', 'overload', true],
  [503, 'full', 'overload', true],
  [529, 'Overloaded', 'overload', true],
] as const)('[EXE1.60][EXE1.62] status %i (%s) is %s', ([status, words, expected, transient]) => {
  const fault = faultOf(refused(status, words), endpoint);
  expect([fault.class, fault.transient]).toEqual([expected, transient]);
});

test.for([
  [400, 'prompt is too long: 210000 tokens > 200000 maximum'],
  [400, "This model's maximum context length is 8192 tokens"],
  [400, 'Your input exceeds the context window of this model.'],
  [413, 'request_too_large'],
] as const)('[EXE1.67] a model says in many words that it is too long: %i %s', ([status, words]) => {
  expect(faultOf(refused(status, words), endpoint)).toMatchObject({ tooLong: true, transient: false });
});

test('[EXE1.60] errors in the middle of a stream, broken connections and absent hosts are told apart', () => {
  const inStream = { type: 'overloaded_error', message: 'Overloaded' };
  expect(faultOf(inStream, endpoint)).toMatchObject({ class: 'overload', transient: true });
  expect(faultOf(refused(200, 'Failed to process successful response'), endpoint)).toMatchObject({
    class: 'network',
    transient: true,
    unreachable: false,
  });
  const absent = Object.assign(new Error('Cannot connect'), {
    cause: new AggregateError([Object.assign(new Error('no'), { code: 'ECONNREFUSED' })]),
  });
  expect(faultOf(absent, endpoint)).toMatchObject({ unreachable: true, transient: true });
});

test('[EXE1.62] nobody at an address is a wrong address, unless somebody was there before', () => {
  const model = new Model({ clock: realClock, endpoint, stallMs: 1_000 });
  const absent = Object.assign(new Error('no'), { code: 'ENOTFOUND' });
  expect(model.fault(absent).class).toBe('invalid');
  expect(model.fault(refused(429)).class).toBe('rate_limit');
  expect(model.fault(absent).class).toBe('network');
});

test('[EXE1.61] when to come back is read in every form', () => {
  const after = (headers: object): number | null =>
    faultOf(refused(429, 'no', { responseHeaders: headers }), endpoint).retryAfterMs;
  expect(after({ 'retry-after': '7' })).toBe(7_000);
  expect(after({ 'retry-after': '0' })).toBe(0);
  expect(after({ 'retry-after-ms': '1500', 'retry-after': '2' })).toBe(1_500);
  expect(after({ 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() })).toBeGreaterThan(3_000_000);
  expect(after({ 'retry-after': 'soon' })).toBeNull();
  expect(after({})).toBeNull();
});

test('[EXE1.62] neither a key nor what is secret in a URL is ever said', () => {
  const { message } = faultOf(refused(401, 'bad key sk-secret'), endpoint);
  expect(message).not.toContain('sk-secret');
  expect(message).not.toContain('pass');
  expect(shownUrl(endpoint)).toBe('http://127.0.0.1:1/v1');
});

test('[EXE1.62] an address counts with and without its version', () => {
  const url = (provider: Endpoint['provider'], baseUrl: string | null): string | null =>
    urlOf({ ...endpoint, provider, baseUrl });
  expect(url('anthropic', null)).toBe('https://api.anthropic.com/v1');
  expect(url('anthropic', 'http://h/')).toBe('http://h/v1');
  expect(url('openai', 'http://h/v1')).toBe('http://h/v1');
  expect(url('ollama', null)).toBe('http://127.0.0.1:11434/v1');
  expect(url('openai-compatible', 'http://h/api/paas/v4')).toBe('http://h/api/paas/v4');
  expect(url('openai-compatible', 'http://h/api')).toBe('http://h/api');
  expect(url('openai-compatible', null)).toBeNull();
  expect(contextOf({ ...endpoint, contextTokens: 5_000 })).toBe(5_000);
});
