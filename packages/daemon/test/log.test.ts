import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLog } from '@reveille/daemon';
import { redactText, withoutCredentials } from '../src/log/redact.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reveille-log-'));
  path = join(folder, 'daemon.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (options: { maxBytes?: number; maxFiles?: number } = {}) =>
  openLog({ path, level: 'info', maxBytes: 1_000_000, maxFiles: 3, ...options });
const text = (): string => readFileSync(path, 'utf8');
const lines = (): Record<string, unknown>[] =>
  text()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('[OBS1.1] one JSON object per line, with what it is about as fields; less than the level is left out', () => {
  using log = open();
  log.debug('unseen');
  log.warn('a run was refused', {
    run: 'run_1',
    task: 'task_1',
    level: 'mine',
    error: new Error('no', { cause: 'x' }),
  });
  log.info('two\nlines');
  const [first, second] = lines();
  expect(lines()).toHaveLength(2);
  expect(first).toMatchObject({
    level: 'warn',
    pid: process.pid,
    run: 'run_1',
    task: 'task_1',
    message: 'a run was refused',
  });
  expect(first?.['error']).toMatchObject({
    message: 'no',
    cause: 'x',
    stack: expect.stringContaining('log.test'),
  });
  expect(Date.parse(String(first?.['time']))).toBeGreaterThan(0);
  expect(second?.['message']).toBe('two\nlines');
  expect(statSync(path).mode & 0o077).toBe(0);
});

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const canary = fc.string({ unit: fc.constantFrom(...letters.split('')), minLength: 36, maxLength: 36 });
const shapes: ((secret: string) => unknown)[] = [
  (secret) => `rvp_${secret}`,
  (secret) => `rvs_session_a.${secret}`,
  (secret) => `the run has rvr_run_1.session_2.3.${secret} and goes on`,
  (secret) => `{"text":"two lines\\nrvr_run_1.session_2.3.${secret}"}`,
  (secret) => `TOKEN_rvp_${secret} ticket%3Drvt_${secret}`,
  (secret) => `{"text":"two lines\\nsk-ant-${secret}\\tghp_${secret}\\nAIza${secret}"}`,
  (secret) => `sk-ant-api03-${secret}`,
  (secret) => `key=sk-${secret};`,
  (secret) => `Authorization: Bearer ${secret}`,
  (secret) => ({ headers: { Authorization: `Bearer ${secret}` } }),
  (secret) => ({ authorization: secret }),
  (secret) => ({
    'x-api-key': secret,
    nested: [{ apiKey: secret, access_token: secret, clientSecret: secret }],
  }),
  (secret) => ({ password: secret, cookie: secret, credential: secret }),
  (secret) => `ghp_${secret} github_pat_${secret} glpat-${secret} xoxb-${secret} npm_${secret}`,
  (secret) => `https://user:${secret}@example.org/x.git`,
  (secret) => `ANTHROPIC_API_KEY=${secret} OPENAI_API_KEY='${secret}'`,
  (secret) => `{"token":"${secret}"}`,
  (secret) => `eyJhbGciOiJIUzI1NiJ9.${secret}.${secret}`,
  (secret) => `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
  (secret) => new Error(`failed with sk-proj-${secret}`),
  (secret) => new Error('failed', { cause: new Error(`token: ${secret}`) }),
  (secret) => ({ [`sk-${secret}`]: 1 }),
];

test('[OBS1.2] a secret never gets into the file, by whatever way it comes', () => {
  using log = open();
  const seen: string[] = [];
  fc.assert(
    fc.property(canary, fc.nat(shapes.length - 1), fc.boolean(), (secret, shape, inMessage) => {
      const made = shapes[shape]!(secret);
      seen.push(secret);
      if (inMessage && typeof made === 'string') log.error(made);
      else log.error('it happened', { made });
    }),
    { numRuns: 400 },
  );
  const written = text();
  expect(seen.filter((secret) => written.includes(secret))).toEqual([]);
});

test('[OBS1.7] our own credentials are taken out of what is kept, and nothing else', () => {
  const seal = 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v';
  const kept = {
    text: `it has rvp_${seal}, "\\nrvr_run_1.session_2.3.${seal}" and rvs_session_1.${seal}`,
    list: [1, null, `rvb_0123.${seal}`, { [`rvt_${seal}`]: true }],
    name: 'fw_config_loader sk-learn-pipelines srvs_list password: hunter22',
  };
  const clean = withoutCredentials(kept);
  expect(JSON.stringify(clean)).not.toContain(seal);
  expect(clean.text).toBe('it has [redacted], "\\n[redacted]" and [redacted]');
  expect(clean.name).toBe(kept.name);
  const nothing = { text: 'drvr_init', list: [{ a: 1 }] };
  expect(withoutCredentials(nothing)).toBe(nothing);
});

test('[OBS1.7] no text makes it slow', () => {
  for (const unit of ['rv', 'rvp_', 'rvp_a', 'r', 'sk-', 'eyJa.', '://:', 'token: ', '\\n', '-----BEGIN ']) {
    const long = unit.repeat(Math.ceil(2_000_000 / unit.length));
    expect(withoutCredentials(long).length).toBeGreaterThan(0);
    expect(redactText(long).length).toBeLessThan(20_000);
  }
});

test('[OBS1.2] what is no secret stays legible', () => {
  using log = open();
  const data = {
    task: 'task_0mwinuo0s',
    tokens: 1_200,
    maxTokens: 5,
    path: '/v1/op/getTask',
    skill: 'sk-ip',
    why: 'a token was missing',
  };
  log.info('the basic idea: ask a person', data);
  expect(lines()[0]).toMatchObject({ ...data, message: 'the basic idea: ask a person' });
});

test('[OBS1.3] files are begun anew when they are full; only so many are kept, none larger', () => {
  using log = open({ maxBytes: 10_000, maxFiles: 3 });
  for (let i = 0; i < 1_000; i++) log.info('x'.repeat(100), { i });
  expect(readdirSync(folder).sort()).toEqual(['daemon.log', 'daemon.log.1', 'daemon.log.2']);
  for (const name of readdirSync(folder))
    expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(10_000);
  const kept = ['daemon.log.2', 'daemon.log.1', 'daemon.log'].flatMap((name) =>
    readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'),
  );
  const numbers = kept.map((line) => (JSON.parse(line) as { i: number }).i);
  expect(numbers).toEqual(numbers.map((_, k) => 1_000 - numbers.length + k));
});

test('[OBS1.3] a line is bounded, whatever is to be logged', () => {
  using log = open();
  const circle: Record<string, unknown> = { big: 10n, call: () => 1 };
  circle['self'] = circle;
  log.warn('y'.repeat(1_000_000), { circle, list: Array(10_000).fill('z'.repeat(5_000)) });
  log.warn('ok', { circle, none: undefined });
  for (const line of text().trimEnd().split('\n')) expect(line.length).toBeLessThan(80_000);
  expect(lines()[1]).toMatchObject({ message: 'ok', circle: { big: '10' } });
});

test('[OBS1.4] a log that cannot be written stops nobody, and says later what is missing', () => {
  using log = open({ maxBytes: 1_000 });
  log.info('first');
  rmSync(folder, { recursive: true });
  for (let i = 0; i < 50; i++) log.info('x'.repeat(100), { i });
  mkdirSync(folder);
  log.info('last');
  const [warning, last] = lines();
  expect(warning).toMatchObject({ level: 'warn', missing: expect.any(Number) });
  // The first few went into the file that was deleted; the rest is counted.
  expect(warning?.['missing']).toBeGreaterThan(40);
  expect(last).toMatchObject({ message: 'last' });
});

test('[OBS1.5] nothing in a line is obeyed by a terminal or hides itself', () => {
  using log = open();
  const nasty = '\u001b]52;c;aGk=\u0007 \u009b31m \u202eabc\u202c \u2028 \r\b \u200b';
  log.info(nasty, { [nasty]: nasty });
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  expect(text().trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\ufeff]/);
  expect(lines()[0]).toMatchObject({ message: nasty, [nasty]: nasty });
});
