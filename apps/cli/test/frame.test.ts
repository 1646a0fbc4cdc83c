import type { WriteStream } from 'node:tty';
import type { Plan, TaskId, TaskState } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { coloured, plain } from '../src/ansi.ts';
import { drawFrame } from '../src/demo/frame.ts';
import type { Picture, Row } from '../src/demo/picture.ts';
import { Screen } from '../src/demo/screen.ts';
import { drawSummary } from '../src/demo/summary.ts';
import { fit, width, wrap } from '../src/view/columns.ts';

const STATES: TaskState[] = [
  'completed',
  'running',
  'waiting',
  'failed',
  'pending',
  'blocked',
  'ready',
  'review',
  'cancelled',
];

function picture(elapsed = 1_234): Picture {
  const rows = STATES.map((state, i): Row => {
    const name = i % 3 === 2 ? 'a subtask with rather a long name' : `task ${i}`;
    const ms = state === 'pending' ? null : elapsed * (i + 1);
    return {
      task: `task_${i}` as TaskId,
      name,
      agent: 'coder',
      depth: i % 3 === 2 ? 1 : 0,
      last: true,
      state,
      ms,
      why: 'because '.repeat(20),
      attempt: 1 + (i % 2),
    };
  });
  const wakeUps = STATES.map((state, i) => ({
    parent: 'tests',
    child: `child ${i}`,
    how: state,
    ms: i * 1.3,
  }));
  return {
    plan: { name: 'A plan', state: 'active' } as Partial<Plan> as Plan,
    elapsed,
    rows,
    wakeUps,
    views: [],
  };
}

/* oxlint-disable no-control-regex -- a terminal is made of these */

/** As much of a terminal as the screen needs: a grid, a cursor, and what wraps. */
class Terminal {
  readonly lines: string[] = [''];
  columns: number;
  rows = 30;
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.columns = columns;
  }

  write(text: string): boolean {
    for (const [token] of text.matchAll(/\u001b\[\??[0-9;]*[A-Za-z]|[\s\S]/gu)) this.#take(token);
    return true;
  }

  #take(token: string): void {
    if (token === '\n') this.#goTo(this.#row + 1, 0);
    else if (token === '\r') this.#column = 0;
    else if (/^\u001b\[\d+A$/.test(token))
      this.#row = Math.max(0, this.#row - Number.parseInt(token.slice(2), 10));
    else if (token === '\u001b[K')
      this.lines[this.#row] = Array.from(this.lines[this.#row]!).slice(0, this.#column).join('');
    else if (token === '\u001b[J') {
      this.lines[this.#row] = Array.from(this.lines[this.#row]!).slice(0, this.#column).join('');
      this.lines.length = this.#row + 1;
    } else if (!token.startsWith('\u001b')) this.#put(token);
  }

  #goTo(row: number, column: number): void {
    this.#row = row;
    this.#column = column;
    while (this.lines.length <= row) this.lines.push('');
  }

  #put(character: string): void {
    if (this.#column >= this.columns) this.#goTo(this.#row + 1, 0);
    const line = Array.from(this.lines[this.#row]!.padEnd(this.#column));
    line[this.#column++] = character;
    this.lines[this.#row] = line.join('');
  }
}

test('no line of a frame is wider than the terminal, and there are no more than it has', () => {
  for (const columns of [20, 31, 48, 60, 76, 80, 120, 200]) {
    for (const rows of [5, 12, 16, 24, 60]) {
      const lines = drawFrame(picture(), { columns, rows, backend: null }, plain);
      expect(Math.max(...lines.map(width)), `${columns} columns`).toBeLessThanOrEqual(columns);
      expect(lines.length, `${rows} rows`).toBeLessThan(rows);
    }
  }
});

test('a wide frame tells state, how long, why and which attempt', () => {
  const lines = drawFrame(picture(), { columns: 120, rows: 40, backend: null }, plain);
  expect(lines[0]).toMatch(/^A plan · active +1 of 9 done {2}1\.2 s$/);
  expect(lines[4]).toMatch(/^\S task 1 .* @coder +running +2\.5 s {2}attempt 2: because/);
  expect(lines.at(-1)).toContain('tests ← child 8: cancelled');
});

test('[CLI1.98] the head says whose agents run the plan', () => {
  const head = (backend: string | null) =>
    drawFrame(picture(), { columns: 120, rows: 40, backend }, plain).slice(0, 3).join('\n');
  expect(head(null)).toContain('scripted agents on the real engine');
  expect(head('claude')).toContain('claude on a scripted model, on the real engine');
  expect(head('claude')).not.toContain('scripted agents');
});

test('a summary fits a narrow terminal', () => {
  const history = [
    '* 0123456 a subject that is far too long for such a narrow terminal as this one (somebody)',
  ];
  const lines = drawSummary({ ...picture(), history }, null, 60, plain);
  expect(Math.max(...lines.map(width))).toBeLessThanOrEqual(60);
});

test('frames are drawn over each other, and only what changed is written', () => {
  const terminal = new Terminal(100);
  const written: string[] = [];
  const write = (text: string): boolean => (written.push(text), terminal.write(text));
  const screen = new Screen({ columns: 100, rows: 40, write } as Partial<WriteStream> as WriteStream);
  terminal.write('what was there before\n');
  const draw = (elapsed: number): string[] => {
    screen.draw(drawFrame(picture(elapsed), { ...screen.size, backend: null }, coloured));
    return drawFrame(picture(elapsed), { ...screen.size, backend: null }, plain).map((line) =>
      line.trimEnd(),
    );
  };
  for (const elapsed of [100, 1_000, 2_000]) {
    const lines = draw(elapsed);
    expect(terminal.lines.slice(1).map((line) => line.trimEnd())).toEqual([...lines, '']);
  }
  draw(2_000);
  expect(written.at(-1)).not.toContain('tests ←');
  expect(terminal.lines[0]).toBe('what was there before');
  screen.close();
  expect(written.at(-1)).toBe('\u001b[?25h');
});

test('text from outside cannot move the cursor, and is cut where it must be', () => {
  expect(fit('a\u001b[2Jb\nc', 20)).toBe('a [2Jb c');
  expect(fit('abcdef', 4)).toBe('abc…');
  expect(wrap('one two three four', 9, '  ')).toEqual(['  one two', '  three', '  four']);
});
