import type { TranscriptEntry } from '@reveille/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asMessage, parsePatch } from '../src/diff/parse.ts';
import { placed, readPlan } from '../src/editor/read.ts';
import { criticalPath, laidOut, layered } from '../src/graph/layout.ts';
import { stretches } from '../src/parts/ansi.ts';
import { clean, oneLine } from '../src/parts/clean.ts';
import { blocksOf } from '../src/views/blocks.ts';

test('[DSH1.15] every task is drawn after those it needs, and no two in one place; edges go round what lies between', () => {
  const graph = fc.integer({ min: 1, max: 60 }).chain((n) =>
    fc.array(fc.tuple(fc.nat(n - 1), fc.nat(n - 1)), { maxLength: n * 2 }).map((edges) =>
      Array.from({ length: n }, (_, i) => ({
        id: `t${i}`,
        needs: edges.filter(([from, to]) => to === i && from < i).map(([from]) => `t${from}`),
      })),
    ),
  );
  fc.assert(
    fc.property(graph, (nodes) => {
      const { nodes: drawn, edges } = laidOut(nodes);
      const at = new Map(drawn.map((placed) => [placed.id, placed]));
      for (const { id, needs } of nodes)
        for (const need of needs) expect(at.get(id)!.layer).toBeGreaterThan(at.get(need)!.layer);
      const spots = [...at.values(), ...edges.flatMap(({ bends }) => bends)];
      expect(new Set(spots.map(({ layer, row }) => `${layer} ${row}`)).size).toBe(spots.length);
      for (const { from, to, bends } of edges) {
        const layers = [at.get(from)!, ...bends, at.get(to)!].map(({ layer }) => layer);
        expect(layers).toEqual(layers.map((_, i) => layers[0]! + i));
      }
    }),
  );
});

test('[DSH1.15] a circle and a need that is not there are no hindrance; thousands in a row are none either', () => {
  const circle = [
    { id: 'a', needs: ['b'] },
    { id: 'b', needs: ['a', 'nobody'] },
  ];
  expect(layered(circle).map(({ id }) => id)).toEqual(['a', 'b']);
  const chain = Array.from({ length: 5_000 }, (_, i) => ({ id: `t${i}`, needs: i > 0 ? [`t${i - 1}`] : [] }));
  expect(layered(chain).at(-1)?.layer).toBe(4_999);
});

test('[DSH1.15] the critical path is the longest chain of what is open', () => {
  const node = (id: string, open: boolean, ...needs: string[]) => ({ id, open, needs });
  const nodes = [
    node('a', false),
    node('b', true, 'a'),
    node('c', true, 'b'),
    node('d', true, 'c'),
    node('e', true, 'a'),
  ];
  expect([...criticalPath(nodes)].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(['b', 'c', 'd']);
  expect(criticalPath([node('a', true), node('b', false)]).size).toBe(0);
});

test('[DSH1.16] calls of tools are folded with their ends; the rest stands for itself', () => {
  const entry = (
    kind: TranscriptEntry['kind'],
    text: string,
    also: Partial<TranscriptEntry> = {},
    n = 0,
  ): TranscriptEntry => ({ n, at: 0, kind, text, ...also });
  const blocks = blocksOf([
    entry('said', 'a'),
    entry('tool', 'read', { id: '1' }),
    entry('tool', 'write', { id: '2' }),
    entry('file', 'b.ts'),
    entry('tool_end', '', { id: '2', failed: true }),
    entry('tool_end', '', { id: '1' }),
    entry('thought', 'c'),
    entry('tool', 'run', { id: '3' }),
  ]);
  expect(blocks.map(({ kind }) => kind)).toEqual(['said', 'tools', 'thought', 'tools']);
  expect(blocks[1]).toMatchObject({ uses: [{ state: 'done' }, { state: 'failed', files: ['b.ts'] }] });
  expect(blocks[3]).toMatchObject({ uses: [{ text: 'run', state: 'open' }] });
});

test('[DSH1.16] a patch is read by file and line', () => {
  const [one, two, ...more] = parsePatch(
    'diff --git a/a.ts b/a.ts\nindex 1..2 100644\n--- a/a.ts\n+++ b/a.ts\n@@ -2,2 +2,3 @@ head\n same\n-old\n+new\n+newer\n\\ No newline at end of file\n' +
      'diff --git a/p.png b/p.png\nnew file mode 100644\nBinary files /dev/null and b/p.png differ\n',
  );
  expect(more).toEqual([]);
  expect(one).toEqual({
    path: 'a.ts',
    lines: [
      { kind: 'hunk', text: '@@ -2,2 +2,3 @@ head', line: null },
      { kind: 'same', text: 'same', line: 2 },
      { kind: 'removed', text: 'old', line: 3 },
      { kind: 'added', text: 'new', line: 3 },
      { kind: 'added', text: 'newer', line: 4 },
      { kind: 'note', text: 'No newline at end of file', line: null },
    ],
  });
  expect(two?.path).toBe('p.png');
  expect(two?.lines.map(({ text }) => text)).toContain('Binary files /dev/null and b/p.png differ');
  expect(asMessage([{ path: 'a.ts', line: 3, quoted: '  new', words: 'Why?' }])).toBe(
    'Comments on your changes:\n\na.ts:3\n> new\nWhy?',
  );
});

test('[DSH1.22] a plan is read with the way back to its lines', () => {
  const read = readPlan('name: x\ntasks:\n  - id: a\n    dependencies: [b]\n');
  if (!('plan' in read)) throw new Error('it can be read');
  expect(
    placed(
      [
        { at: 'tasks[0].dependencies[0]', problem: 'no' },
        { at: 'name', problem: 'long' },
      ],
      read.lineOf,
    ),
  ).toEqual([
    { line: 1, problem: 'name: long' },
    { line: 4, problem: 'tasks[0].dependencies[0]: no' },
  ]);
  expect(readPlan('name: [x\n')).toMatchObject({ problems: [{ line: expect.any(Number) }] });
});

test('[DSH1.40] colours of terminals are kept, their commands left out, and what cannot be seen is shown', () => {
  expect(stretches('\u001b[1;31mFAIL\u001b[0m ok \u001b[2J\u001b]8;;http://x\u0007y')).toEqual([
    { text: 'FAIL', style: 'ansi-1' },
    { text: ' ok ', style: '' },
    { text: 'y', style: '' },
  ]);
  expect(clean('a\u202eb\u200bc\u0007\n\td')).toBe('a⟨202E⟩b⟨200B⟩c⟨0007⟩\n\td');
  expect(oneLine('a\n\n b'.repeat(200), 10)).toBe('a ba ba b…');
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff), { maxLength: 80 }), (codes) => {
      const text = String.fromCharCode(...codes);
      for (const piece of [clean(text), ...stretches(text).map((stretch) => stretch.text)])
        // oxlint-disable-next-line no-control-regex -- none of these may be left
        expect(piece).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    }),
  );
});
