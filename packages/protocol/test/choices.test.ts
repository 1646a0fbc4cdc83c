import { describe, expect, test } from 'vitest';
import { areNumbered, choiceIn, choiceLines, choicesOf, optionsOf, takesFreeText } from '../src/choices.ts';
import { NotifyInput } from '../src/orchestrator.ts';
import type { Request } from '../src/request.ts';

const of = (kind: Request['kind'], options = optionsOf(kind)) => ({ kind, options });
const PORTS = of('question', ['80', '8080']);
const COLOURS = of('question', ['the blue one', 'the red one']);
const LABELLED = {
  kind: 'conflict' as const,
  options: ['resolve:task_1:abc', 'stop:task_1:abc'],
  labels: ['have "x" resolved', 'stop at "x"'],
};

describe('a choice', () => {
  test.for<[ReturnType<typeof of> & { labels?: string[] }, string, string | null]>([
    [of('idle'), 'mark complete', 'mark complete'],
    [of('idle'), 'Mark complete: its last words are the result', 'mark complete'],
    [of('idle'), ' 3 ', 'mark complete'],
    [of('idle'), '3.', 'mark complete'],
    [of('idle'), '0', null],
    [of('idle'), '5', null],
    [of('idle'), '-1', null],
    [of('idle'), '1e0', null],
    [of('idle'), 'mark', null],
    [of('idle'), '', null],
    [COLOURS, 'The Blue One.', 'the blue one'],
    [COLOURS, '2', 'the red one'],
    [COLOURS, 'neither', null],
    [LABELLED, '1', 'resolve:task_1:abc'],
    [LABELLED, 'stop at "x"', 'stop:task_1:abc'],
    [LABELLED, 'stop:task_1:abc', 'stop:task_1:abc'],
    [LABELLED, 'stop:task_2:abc', null],
    [of('approval'), 'yes', 'approve'],
    [of('approval'), 'ok', 'approve'],
    [of('approval'), 'ok, but not on main', null],
    [of('approval'), 'approve but not on main', null],
    [of('approval'), 'no, use the staging server', 'deny'],
    [of('failure'), 'retry', 'retry'],
    [of('failure'), 'retrying', null],
    [of('review'), 'aprove', null],
    [of('review'), 'approved by my boss only', null],
    [of('review'), 'constructor', null],
  ])('[INB3.10] of %j: "%s" names %s', ([request, text, id]) => {
    expect(choiceIn(request, text)?.id ?? null).toBe(id);
  });

  test('[INB3.10] words may follow the id, the number and the label', () => {
    for (const text of ['changes: use tabs', '2: use tabs', '2 use tabs', 'Have it changed: use tabs'])
      expect(choiceIn(of('review'), text)).toEqual({ id: 'changes', rest: 'use tabs' });
    expect(choiceIn(of('failure'), 'retry with claude:coder')).toEqual({
      id: 'retry with',
      rest: 'claude:coder',
    });
    expect(choiceIn(of('approval'), 'approve: this once')).toEqual({ id: 'approve', rest: 'this once' });
  });

  test('[INB3.11] a number that could mean two things means the choice of that name', () => {
    expect(areNumbered(choicesOf(PORTS))).toBe(false);
    expect(choiceIn(PORTS, '80')?.id).toBe('80');
    expect(choiceIn(PORTS, '1')).toBeNull();
    expect(choiceIn(of('question', ['2', '1']), '1')?.id).toBe('1');
    expect(choiceLines(PORTS)).toEqual(['80', '8080']);
  });

  test('[INB3.11] every choice is found by each of its names, and by no name of another', () => {
    for (const kind of ['idle', 'failure', 'plan', 'review', 'budget', 'approval', 'escape'] as const) {
      const request = of(kind);
      choicesOf(request).forEach(({ id, label, aliases = [] }, i) => {
        for (const name of [id, label, String(i + 1), ...aliases])
          expect(choiceIn(request, name), `${kind}: ${name}`).toEqual({ id, rest: '' });
      });
    }
  });

  test('[INB3.12] a request without choices takes any words, one with choices only if it says so', () => {
    expect(takesFreeText(of('question', []))).toBe(true);
    expect(takesFreeText(COLOURS)).toBe(false);
    expect(takesFreeText({ ...COLOURS, freeText: true })).toBe(true);
  });

  test('[INB3.13] two options of one name are refused, whichever of the two it is', () => {
    const note = (options: NotifyInput['options']) =>
      NotifyInput.safeParse({ type: 'question', message: 'x', options }).success;
    expect(note(['a', 'b'])).toBe(true);
    expect(note(['a', 'A'])).toBe(false);
    expect(note(['a', ' a '])).toBe(false);
    expect(note([{ id: 'x', label: 'a' }, 'a'])).toBe(false);
    expect(note([{ id: 'x', label: 'x' }, 'a'])).toBe(true);
    expect(note([''])).toBe(false);
  });
});
