import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent, Executor, ExecutorEvent, StartSpec } from '@reveille/core';
import { expect, test } from 'vitest';
import { recording } from '../src/dashboard/recording.ts';
import { Pages } from '../src/dashboard/pages.ts';
import { Transcripts } from '../src/dashboard/transcripts.ts';

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'reveille-pages-'));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

const seal = (page: string): string => `rvb_${page}.sealed`;
const DAY = 86_400_000;
const pageOf = (credential: string): string => credential.slice(4, 36);

test('[DSH1.2] a ticket counts for a minute; a page that is let in stays so over restarts, and for two weeks without a visit', () => {
  using folder = new Folder();
  const path = join(folder.path, 'pages.json');
  const pages = new Pages({ path, seal });
  const late = pages.ticket(0);
  expect(() => pages.login(late, 60_001)).toThrow('expired');
  const page = pageOf(pages.login(pages.ticket(0), 1_000));
  expect(statSync(path).mode & 0o077).toBe(0);
  const later = new Pages({ path, seal });
  expect(later.isIn(page, 13 * DAY)).toBe(true);
  expect(later.isIn(page, 26 * DAY)).toBe(true);
  expect(later.isIn(page, 41 * DAY)).toBe(false);
  expect(later.isIn('0'.repeat(32), 0)).toBe(false);
  writeFileSync(path, '{"', { mode: 0o600 });
  expect(new Pages({ path, seal }).isIn(page, 1_000)).toBe(false);
});

test('[DSH1.2] tickets and pages are bounded', () => {
  using folder = new Folder();
  const pages = new Pages({ path: join(folder.path, 'pages.json'), seal });
  const first = pages.ticket(0);
  for (let i = 0; i < 200; i++) pages.ticket(0);
  expect(() => pages.login(first, 1)).toThrow('expired');
  const oldest = pageOf(pages.login(pages.ticket(0), 1));
  for (let i = 0; i < 60; i++) pages.login(pages.ticket(i), i + 2);
  expect(pages.isIn(oldest, 3)).toBe(false);
});

const said = (text: string) => ({ at: 1, kind: 'said', text }) as const;

test('[DSH1.16] a transcript is written without secrets, read from a number on, and goes on in a later life', async () => {
  using folder = new Folder();
  const options = { folder: folder.path, failed: (error: unknown) => expect(error).toBeUndefined() };
  const first = new Transcripts(options);
  first.open('task_1', 'run_1');
  first.add('run_1', said('one'));
  first.add('run_1', { at: 1, kind: 'tool', text: 'call sk-ant-0123456789abcdef', id: 'x' });
  expect(first.doing('run_1')).toBe('call [redacted]');
  const page = await first.read('task_1', 'run_1', { after: 0, limit: 10 });
  expect(page.entries.map(({ text }) => text)).toEqual(['one', 'call [redacted]']);
  first.add('run_1', said('two'));
  const next = await first.read('task_1', 'run_1', { after: page.entries.at(-1)!.n, limit: 10 });
  expect(next.entries.map(({ text }) => text)).toEqual(['two']);
  await first[Symbol.asyncDispose]();
  expect(readFileSync(join(folder.path, 'task_1', 'run_1.jsonl'), 'utf8')).not.toContain('0123456789abcdef');

  const second = new Transcripts(options);
  second.open('task_1', 'run_1');
  second.add('run_1', said('three'));
  second.close('run_1');
  const all = await second.read('task_1', 'run_1', { after: 0, limit: 2 });
  expect(all.entries.map(({ text }) => text)).toEqual(['two', 'three']);
  expect(await second.runsOf('task_1')).toEqual(['run_1']);
  await second[Symbol.asyncDispose]();
});

test('[DSH1.16][BND7.32] a transcript that grows without end keeps what is newest, and says that there was more', async () => {
  using folder = new Folder();
  const transcripts = new Transcripts({ folder: folder.path, failed: () => undefined, maxBytes: 4_000 });
  transcripts.open('task_1', 'run_1');
  for (let i = 0; i < 200; i++) {
    transcripts.add('run_1', said(`entry ${i} ${'x'.repeat(100)}`));
    await transcripts.read('task_1', 'run_1', { after: 0, limit: 1 });
  }
  const { entries } = await transcripts.read('task_1', 'run_1', { after: 0, limit: 2_000 });
  await transcripts[Symbol.asyncDispose]();
  expect(entries.length).toBeLessThan(80);
  // Where the older ones were it is said, once.
  expect(entries[0]?.text).toMatch(/^Earlier entries were left out/);
  expect(entries.filter(({ kind }) => kind === 'note')).toHaveLength(1);
  expect(entries.at(-1)?.text).toMatch(/^entry 199 /);
  expect(statSync(join(folder.path, 'task_1', 'run_1.jsonl')).size).toBeLessThanOrEqual(4_000);
});

test('[WAK7.1] what a woken turn is given and says is in the transcript like the first one', async () => {
  using folder = new Folder();
  await using transcripts = new Transcripts({
    folder: folder.path,
    failed: (error) => expect(error).toBeUndefined(),
  });
  const heard: ExecutorEvent[] = [];
  const agent: Agent = {
    turn: () => undefined,
    steer: async () => 'taken',
    interrupt: () => undefined,
    seen: async () => new Map(),
    stop: async () => undefined,
  };
  let tell: StartSpec['report'] = () => undefined;
  const start = (spec: StartSpec): Agent => {
    tell = spec.report;
    return agent;
  };
  const executor = { start, reap: async () => undefined, steers: true } as unknown as Executor;
  const clock = { now: () => 1, mono: () => 1, after: () => () => undefined };
  const recorded = recording({ backends: () => ['x'], get: () => executor }, transcripts, clock).get('x')!;
  const spec = {
    run: 'run_1',
    task: { id: 'task_1' },
    report: (event: ExecutorEvent) => void heard.push(event),
  };
  const parent = recorded.start(spec as unknown as StartSpec);
  const turns = [
    'the task',
    'your subtask "kid" (task_2) received the task "x"; it ended: success. Its response:',
  ];
  for (const [i, text] of turns.entries()) {
    parent.turn({ turn: i + 1, given: [], text });
    tell({ type: 'output', text: `answer ${i + 1}` });
    tell({ type: 'turn_ended', turn: i + 1, lastWords: `answer ${i + 1}` });
  }
  const { entries } = await transcripts.read('task_1', 'run_1', { after: 0, limit: 20 });
  const shown = entries.filter(({ kind }) => kind === 'given' || kind === 'said');
  expect(shown.map(({ kind, text }) => [kind, text])).toEqual([
    ['given', turns[0]],
    ['said', 'answer 1'],
    ['given', turns[1]],
    ['said', 'answer 2'],
  ]);
  expect(heard.filter(({ type }) => type === 'output')).toHaveLength(2);
});
