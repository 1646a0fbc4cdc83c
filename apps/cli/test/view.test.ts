import { execFileSync } from 'node:child_process';
import type { Step } from '@reveille/executors';
import { TASK_STATES, type Request, type TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { plain } from '../src/ansi.ts';
import { Bell } from '../src/view/bell.ts';
import { fit, harmless, width } from '../src/view/columns.ts';
import { drawFrame } from '../src/view/frame.ts';
import { pictureOf, type Picture, type Row } from '../src/view/picture.ts';
import { drawEvent } from '../src/view/lines.ts';
import { reportLines, type Finding } from '../src/commands/doctor-report.ts';
import { requestLines, taskLines } from '../src/view/list.ts';
import { Watch } from '../src/view/watch.ts';
import { cost, duration } from '../src/view/words.ts';
import { scripted, testEngine } from './engine.ts';

const NAMES = [
  'design',
  '設計とレビュー',
  'ein sehr langer Name einer sehr kleinen Aufgabe',
  '🚀 launch',
  'évolution',
];

function picture(rows = 9): Picture {
  return {
    title: 'A plan with a name that is longer than most terminals are wide, or at least than narrow ones are',
    state: 'active',
    why: 'started',
    elapsed: 83_000,
    used: { tokens: 12_345, usd: 0.129 },
    rows: Array.from({ length: rows }, (_, i): Row => ({
      id: `task_${i}`,
      branch: i % 3 === 2 ? '└ ' : '',
      name: `${NAMES[i % NAMES.length]}`,
      agent: 'coder',
      state: TASK_STATES[i % TASK_STATES.length]!,
      ms: i % 2 === 0 ? i * 61_000 : null,
      why: 'because '.repeat(30),
      attempt: 1 + (i % 2),
    })),
    wakeUps: Array.from({ length: 9 }, (_, i) => ({
      parent: NAMES[1]!,
      child: `child ${i}`,
      how: 'success',
      ms: i,
      at: 0,
    })),
    requests: [{ id: 'req_1' } as Partial<Request> as Request],
  };
}

const NOW = 1_000_000;
const AGENT = { backend: 'scripted', name: 'coder' };

test.each([20, 40, 80, 200])(
  '[CLI1.20] at %i columns no line is wider than the terminal, and there are no more than it has',
  (columns) => {
    for (const rows of [5, 8, 16, 24, 60]) {
      for (const tasks of [1, 9, 500]) {
        const lines = drawFrame(
          picture(tasks),
          { columns, rows, now: NOW, hint: 'Ctrl-C leaves; the work goes on.' },
          plain,
        );
        expect(Math.max(...lines.map(width)), `${columns} columns`).toBeLessThanOrEqual(columns);
        expect(lines.length, `${rows} rows`).toBeLessThan(rows);
      }
    }
  },
);

test('[CLI1.20] text in any script takes the columns it takes, and nothing in it is obeyed', () => {
  expect(width('設計')).toBe(4);
  expect(width('e\u0301')).toBe(1);
  expect(fit('設計とレビュー', 7)).toBe('設計と…');
  expect(fit('a\u001b[2Jb\nc\u202ed', 40)).toBe('a [2Jb c d');
  expect(fit('abcdef', 4)).toBe('abc…');
  expect(fit('abcd', 4)).toBe('abcd');
  expect(harmless('a\u001b]0;x\u0007\n\tb\r')).toBe('a\ufffd]0;x\ufffd\n\tb\ufffd');
});

test('[CLI1.21] a wide frame tells state, since when, why, which attempt, cost, wake-ups and what waits for you', () => {
  const lines = drawFrame(picture(), { columns: 200, rows: 40, now: NOW, hint: 'Ctrl-C leaves.' }, plain);
  expect(lines[0]).toMatch(/ · active +1 of 9 done {2}1m 23s {2}\$0\.13, 12k tokens$/);
  expect(lines[4]).toMatch(/^○ └ ein sehr langer Name .* @coder +ready +2m 02s {2}because/);
  expect(lines[3]).toMatch(/^· 設計とレビュー .* @coder +blocked +attempt 2: because/);
  expect(lines.slice(-4)).toEqual([
    expect.stringMatching(/^ {2}設計とレビュー ← child 8: success +8\.0 ms$/),
    '',
    '1 request waits for you: reveille inbox',
    'Ctrl-C leaves.',
  ]);
});

test('[HLT2.30] a silent worker does not look as if it ran: its own sign and word, and what is the matter', () => {
  const health = { word: 'silent 6m', why: 'no sign of life for 6m; last words: I run the tests' };
  const rows = picture().rows.filter(({ state }) => state === 'running');
  expect(rows).toHaveLength(1);
  const shown = { ...picture(), rows: [{ ...rows[0]!, attempt: 1, health }] };
  const [, , line] = drawFrame(shown, { columns: 160, rows: 40, now: NOW }, plain);
  expect(line).toMatch(/^▲ .* @coder +silent 6m .* no sign of life for 6m; last words: I run the tests$/);
  expect(line).not.toContain('running');
});

test('[HLT2.30] the list of tasks says it too', () => {
  const task = { id: 'task_1', name: 'tests', state: 'running', since: NOW, why: 'started', agent: AGENT };
  const health = { what: 'looping', text: 'made 30 calls', at: NOW, lastSign: NOW, lastWords: '' } as const;
  const view = { task, health } as unknown as TaskView;
  const [line] = taskLines([view], { columns: 160, now: NOW, paint: plain });
  expect(line).toMatch(/^▲ looping .* tests .* task_1 {2}made 30 calls$/);
  // Of one that waits, what was wrong before is of no interest.
  const waiting = { ...view, task: { ...view.task, state: 'waiting' } } as TaskView;
  expect(taskLines([waiting], { columns: 160, now: NOW, paint: plain })[0]).toMatch(/^◐ waiting /);
});

test('[HLT2.30] a line of the log says when it began and when it was over', () => {
  const say = (type: string, data = {}): string | null =>
    drawEvent({ number: 1, at: 0, type, task: 'task_1', data }, () => 'tests');
  expect(say('health.stuck', { text: 'no sign of life for 300 s' })).toBe(
    'stuck       tests: no sign of life for 300 s',
  );
  expect(say('health.recovered')).toBe('recovered   tests');
  expect(say('conflict.began', { base: 'main' })).toBe('conflict    tests now conflicts with main');
});

test('[CLI1.21] what does not fit is counted, and what is under way or went wrong stays', () => {
  const lines = drawFrame(picture(500), { columns: 80, rows: 20, now: NOW }, plain);
  const states = lines.flatMap((line) => TASK_STATES.filter((state) => line.includes(` ${state} `)));
  expect(new Set(states)).not.toContain('completed');
  expect(states.length).toBeGreaterThan(8);
  expect(lines.at(-3)).toMatch(/^… and 48\d more: .*55 completed/);
});

test.each([
  [0, '0.0 s'],
  [59_940, '59.9 s'],
  [59_960, '1m 00s'],
  [3_599_000, '59m 59s'],
  [3_600_000, '1h 00m'],
  [86_400_000, '1d 00h'],
  [86_400_000 * 400, '400d'],
  [-5, '0.0 s'],
])('[CLI1.21] %i ms are %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test('[CLI1.21] what nobody reported is not shown as nothing', () => {
  expect(cost({ tokens: 0, usd: 0 })).toBe('');
  expect(cost({ tokens: 999, usd: 0 })).toBe('999 tokens');
  expect(cost({ tokens: 1_240_000, usd: 123.4 })).toBe('$123, 1.2M tokens');
});

const SUITE = scripted(
  'suite',
  {
    steps: [
      { do: 'use', tokens: 100, usd: 0.5 },
      {
        do: 'spawn',
        tasks: [
          { name: 'good', prompt: 'Do.', script: { steps: [{ do: 'report', output: 'all pass' }] } },
          {
            name: 'bad',
            prompt: 'Do.',
            script: {
              steps: [{ do: 'fail', class: 'invalid', message: 'it broke', attempt: 1 }, { do: 'report' }],
            },
          },
        ],
      },
    ],
    whenWoken: [{ do: 'retry' }, { do: 'report', output: 'both hold' }],
  },
  { agent: 'tester' },
);

test('[CLI1.26] a row names the backend of its agent, and the row of a review its verdict', async () => {
  await using test = await testEngine();
  const verdict = (value: string, output: string): Step => ({
    do: 'report',
    output,
    structured: { verdict: value, comments: output },
  });
  const poem = scripted(
    'poem',
    {
      steps: [{ do: 'report' }],
      review: [[verdict('changes', 'One line is missing.')], [verdict('approve', 'Fine.')]],
    },
    { agent: 'scripted:coder', review: 'scripted:tester' },
  );
  const { plan } = await test.run({ name: 'P', tasks: [poem] });
  const picture = pictureOf(await Watch.open(test.person, { plan: plan.id }), Date.now());
  const rows = picture.rows.map(({ agent, why }) => [agent, why]);
  expect(rows).toEqual([
    ['scripted:coder', 'Done.'],
    ['scripted:tester', 'wants changes: One line is missing.'],
    ['scripted:tester', 'approves: Fine.'],
  ]);
  const drawn = drawFrame(picture, { columns: 120, rows: 40, now: Date.now() }, plain).join('\n');
  expect(drawn).toContain('@scripted:coder');
});

test('[CLI1.21] a watch shows what is, whether it was there from the beginning or came at the end', async () => {
  await using test = await testEngine();
  const { plan: draft } = await test.person.savePlan({
    name: 'P',
    tasks: [SUITE, scripted('notes', {}, { dependencies: ['suite'] })],
  });
  const early = await Watch.open(test.person, { plan: draft.id });
  await test.person.startPlan(draft.id);
  await test.until(draft.id);
  const about = early.apply(await test.events());
  await early.refresh();
  const late = await Watch.open(test.person, { plan: draft.id });
  const now = Date.now();
  const seen = pictureOf(early, now);
  expect(early.ended && late.ended).toBe(true);
  expect(seen.rows).toEqual(pictureOf(late, now).rows);
  expect(
    seen.rows.map(({ branch, name, state, attempt, why }) => [branch + name, state, attempt, why]),
  ).toEqual([
    ['suite', 'completed', 1, 'both hold'],
    ['├ good', 'completed', 1, 'all pass'],
    ['└ bad', 'completed', 2, 'Done.'],
    ['notes', 'completed', 1, 'Done.'],
  ]);
  expect(seen).toMatchObject({ title: 'P', state: 'completed', used: { tokens: 100, usd: 0.5 } });
  expect(seen.wakeUps.map(({ parent, child }) => `${parent} ← ${child}`).toSorted()).toEqual([
    'suite ← bad',
    'suite ← bad',
    'suite ← good',
  ]);
  expect(
    about.map((event) => drawEvent(event, (id) => early.name(id))).filter((line) => line?.includes('bad')),
  ).toEqual([
    'running     bad: started',
    'failed      bad: it broke',
    'running     bad: started',
    'completed   bad: Done.',
  ]);
});

test('[CLI1.21] a watch hears nothing of other plans, and knows what its own ask', async () => {
  await using test = await testEngine();
  const other = await test.run({ name: 'Other', tasks: [scripted('x', {})] });
  const asks = scripted('asks', { steps: [{ do: 'ask', text: 'Which one?' }, { do: 'report' }] });
  const waits = scripted('waits', {}, { dependencies: ['asks'] });
  const view = await test.run(
    { name: 'P', tasks: [asks, waits] },
    ({ tasks }) => tasks[0]?.task.state === 'waiting',
  );
  const watch = await Watch.open(test.person, { plan: view.plan.id });
  const events = watch.apply(await test.events());
  expect(events.some(({ plan }) => plan === other.plan.id)).toBe(false);
  expect(pictureOf(watch, Date.now()).rows.map(({ why }) => why)).toEqual([
    'asks you: Which one?',
    'after asks',
  ]);
  expect(watch.requests).toHaveLength(1);
  await test.person.answer({ request: watch.requests[0]!.id, answer: 'this' });
  await test.until(view.plan.id);
  watch.apply(await test.events());
  expect(watch.stale).toBe(true);
  await watch.refresh();
  expect(watch).toMatchObject({ ended: true, stale: false, requests: [] });
});

test('[CLI1.94] the bell rings for what came while one watched, once', () => {
  const bell = new Bell();
  const [one, two] = [{ id: 'req_1' as const }, { id: 'req_2' as const }];
  const rings = [[one], [one], [one, two], [two], []].map((requests) => bell.rings(requests));
  expect(rings).toEqual([false, false, true, false, false]);
});

test('[INB3.20] an approval in own words is told from a real action, and all of a request can be seen', () => {
  const base = {
    id: 'req_1',
    kind: 'approval',
    name: 'build',
    options: ['approve', 'deny'],
    at: 0,
    text: 'May I?',
    ofPlan: null,
  } as unknown as Parameters<typeof requestLines>[0][number];
  const action = {
    tool: 'run_command',
    kind: 'command',
    command: 'make',
    paths: [],
    held: true,
    where: null,
  };
  const bound = {
    ...base,
    action: { ...action, detail: `${'x\u001B[2K\n'.repeat(3_000)}the end`, digest: 'd' },
  };
  const list = { columns: 60, now: 0, paint: plain };
  const shown = (request: typeof base, whole: boolean): string =>
    requestLines([request], { ...list, whole }).join('\n');
  expect(shown(base, false)).toContain('in its own words');
  expect(shown(bound as typeof base, false)).not.toContain('in its own words');
  const long = { ...bound, text: 'a line\n'.repeat(100) } as typeof base;
  expect(shown(long, false)).toContain('all of it: reveille inbox req_1');
  expect(shown(long, false)).not.toContain('the end');
  expect(shown(long, true)).toContain('the end');
  expect(shown(long, true)).not.toContain('\u001B');
});

test('[INB3.21] the choices of a request have numbers, and each line to paste is one that a shell takes', () => {
  const request = {
    id: 'req_1',
    kind: 'question',
    task: 'task_1',
    text: 'Which?',
    options: ["the team's", 'the "other" one'],
    name: 'a',
    ofPlan: null,
    at: 0,
  } as unknown as Parameters<typeof requestLines>[0][number];
  const shown = (more: object): string =>
    requestLines([{ ...request, ...more }], { columns: 100, now: 0, paint: plain }).join('\n');
  // What a shell makes of each line that names the command: its words, one in a line.
  const pasted = (more: object): string[] =>
    shown(more)
      .split('\n')
      .filter((line) => line.startsWith('  reveille answer'))
      .map((line) =>
        execFileSync('sh', ['-c', `reveille() { printf '%s\n' "$3"; }\n${line}`])
          .toString()
          .trim(),
      );
  expect(shown({})).toContain(`1. the team's`);
  expect(pasted({})).toEqual(['1']);
  expect(pasted({ options: ["8080's", '1'] })).toEqual(["8080's"]);
  expect(pasted({ options: [] })).toEqual(['your own words']);
  expect(pasted({ freeText: true })).toEqual(['1', 'your own words']);
  const review = { kind: 'review', options: ['approve', 'changes', 'reject'] };
  expect(shown(review)).toContain('2. changes: <what is to be different>');
  expect(pasted(review)).toEqual(['1', 'changes: what is to be different']);
  expect(shown(review)).toContain('All changes: reveille diff task_1');
});

test('[INB3.23] the inbox names the plan of a request, with its id where two plans of one name ask', () => {
  const item = (id: string, plan: string | null) =>
    ({
      id,
      kind: 'question',
      task: 'task_1',
      text: 'Which?',
      options: [],
      name: 'a',
      ofPlan: plan === null ? null : { id: plan, name: 'Twin' },
      at: 0,
    }) as unknown as Parameters<typeof requestLines>[0][number];
  const heads = (...items: ReturnType<typeof item>[]): string[] =>
    requestLines(items, { columns: 100, now: 0, paint: plain }).filter((line) => line.startsWith('question'));
  expect(heads(item('req_1', 'plan_1'), item('req_2', null))).toEqual([
    'question      0.0 s  a  of Twin',
    'question      0.0 s  a',
  ]);
  expect(heads(item('req_1', 'plan_1'), item('req_2', 'plan_2'))).toEqual([
    'question      0.0 s  a  of Twin (plan_1)',
    'question      0.0 s  a  of Twin (plan_2)',
  ]);
});

test('[CLI1.49] the last line of doctor is about the first thing that does not work, also if that has no advice of its own', () => {
  const row = (name: string, verdict: Finding['verdict'], more: Partial<Finding> = {}): Finding => ({
    area: 'system',
    name,
    verdict,
    expected: '',
    got: `${name} is seen`,
    advice: '',
    ...more,
  });
  const last = (...findings: Finding[]): string =>
    reportLines(findings, { columns: 120, paint: plain, all: false }).at(-1) ?? '';
  const better = row('programs', 'weak', { advice: 'Install one.', command: 'npm i x' });
  expect(last(row('git', 'good'), better, row('slow', 'weak'))).toBe(
    '1 good, 2 weak. First, programs: Install one. npm i x',
  );
  expect(last(better, row('folder', 'bad'), row('other', 'bad', { advice: 'Mend it.' }))).toBe(
    '1 weak, 2 bad. First, folder: folder is seen',
  );
  expect(last(row('git', 'good'), row('slow', 'weak'))).toBe('1 good, 1 weak. Nothing to do.');
});
