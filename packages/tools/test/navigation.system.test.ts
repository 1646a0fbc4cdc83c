import { describe, expect, test } from 'vitest';
import { DirectoryWorkspace } from './directory.ts';
import { UNSURE, paper } from './paper-navigation.ts';
import { rig } from './rig.ts';

const files = { 'lines.txt': Array.from({ length: 300 }, (_, i) => `text ${i + 1}`).join('\n') };

describe('the tools of navigation', () => {
  test('[NAV1.1] navigate_to_symbol lists definitions with what tells them apart, and says how it knows', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const { navigation, asked } = paper();
    const worker = await world.worker({ workspace, navigation });
    const { text, structured } = await worker.call('navigate_to_symbol', {
      symbolName: 'area',
      fromFile: 'src/a.ts',
    });
    expect(asked).toEqual([{ symbol: 'area', from: 'src/a.ts', waitMs: 400 }]);
    expect(text).toContain('2 definitions of area (semantic, complete)');
    expect(text).toContain(
      'src/circle.ts:2:1  method, in Circle, exported\n    area(): number\n    How large it is.',
    );
    expect(text).toContain('in Square');
    expect(structured).toMatchObject({ found: 'semantic', complete: true });
    for (const symbolName of ['two words', 'x;y', '']) {
      const wrong = await worker.call('navigate_to_symbol', { symbolName });
      expect(wrong.error?.code, symbolName).toBe('invalid_input');
    }
  });

  test('[NAV1.2] find_usages shows lines around each, grouped by file, in pages', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const usages = Array.from({ length: 120 }, (_, i) => i + 2);
    const worker = await world.worker({ workspace, navigation: paper({ usages }).navigation });
    const input = { symbolName: 'area', definitionFile: 'src/circle.ts' };
    const first = await worker.call('find_usages', input);
    expect(first.text).toContain('120 usages of area in 1 file (semantic, complete)');
    expect(first.text).toContain('lines.txt:\n  1- text 1\n  2: line 2 of lines.txt\n  3: line 3 of');
    expect(first.text).toContain('[Page 1 of 3; for more: "page": 2]');
    const last = await worker.get<{ usages: { line: number }[]; total: number }>('find_usages', {
      ...input,
      page: 3,
      context: 0,
    });
    expect(last.usages.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, i) => i + 102));
    expect(last.total).toBe(120);
  });

  test('[NAV1.2] each line is shown once, also if it has two usages, or stands around two', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const { navigation } = paper({ usages: [2, 2, 4, 9] });
    const worker = await world.worker({ workspace, navigation });
    const input = { symbolName: 'area', definitionFile: 'src/circle.ts' };
    const { text } = await worker.call('find_usages', input);
    const line = (n: number) => `line ${n} of lines.txt`;
    expect(text).toContain(
      `lines.txt:\n  1- text 1\n  2: ${line(2)}\n  3- text 3\n  4: ${line(4)}\n  5- text 5\n  --\n  8- text 8\n  9: ${line(9)}\n  10- text 10`,
    );
    expect(text).toContain('4 usages of area');
    const plain = await worker.call('find_usages', { ...input, context: 0 });
    expect(plain.text).toContain(`lines.txt:\n  2: ${line(2)}\n  4: ${line(4)}\n  9: ${line(9)}`);
  });

  test('[NAV1.3] explore_module shows exports with signatures, imports, and who imports it', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const worker = await world.worker({ workspace, navigation: paper().navigation });
    const { text } = await worker.call('explore_module', { modulePath: 'src/circle' });
    expect(text).toContain('Exports (1):\n  Circle  src/circle.ts:2  class Circle\n      Round.');
    expect(text).toContain('Imports (1):\n  ./shape → src/shape.ts  { Shape }');
    expect(text).toContain('Imported by (1):\n  src/main.ts:1');
  });

  test('[NAV1.4] document_outline and type_of', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const worker = await world.worker({ workspace, navigation: paper().navigation });
    expect((await worker.call('document_outline', { path: 'a.ts' })).text).toContain('3-9  class Circle');
    expect((await worker.call('type_of', { symbolName: 'x', file: 'a.ts' })).text).toContain(
      'const x: number',
    );
  });

  test('[NAV2.3] an answer that is not complete says so, and which text hits it did not cover', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const worker = await world.worker({ workspace, navigation: paper({ coverage: UNSURE }).navigation });
    const inputs = {
      navigate_to_symbol: { symbolName: 'area' },
      find_usages: { symbolName: 'area', definitionFile: 'a.ts' },
      explore_module: { modulePath: 'a.ts' },
      document_outline: { path: 'a.ts' },
      type_of: { symbolName: 'x', file: 'a.ts' },
    };
    for (const [name, input] of Object.entries(inputs)) {
      const { text, structured } = await worker.call(name, input);
      expect(text, name).toContain('(text, not known to be complete)');
      expect(text, name).toContain('2 × in a comment (src/a.ts:1 …)');
      expect(text, name).toContain('Note: the server is still loading.');
      expect(structured, name).toMatchObject({ found: 'text', complete: false, uncovered: [{ count: 2 }] });
    }
  });

  test('[NAV1.5] whoever has no navigation, no files, or no grant for it does not have the tools', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const { navigation } = paper();
    const without = await world.worker({ workspace });
    expect((await without.call('find_usages', {})).error?.code).toBe('not_allowed');
    const grants = { tools: ['read_file'], deniedTools: [], delegatesTo: null };
    const denied = await world.worker({ workspace, navigation, grants });
    expect((await denied.call('find_usages', {})).error?.code).toBe('not_allowed');
    expect((await (await world.chat()).call('find_usages', {})).error?.code).toBe('not_allowed');
  });
});

describe('steering', () => {
  test('[NAV3.12] a search for what looks like a symbol is told of navigation, if its caller has it', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const worker = await world.worker({ workspace, navigation: paper().navigation });
    const hint = async (input: object, hands = worker) =>
      (await hands.call('search_text', input)).text.includes('navigate_to_symbol');
    for (const pattern of ['priceOf', 'Parser', 'make_queue', 'MAX_SIZE', 'utf8Bytes'])
      expect(await hint({ pattern }), pattern).toBe(true);
    expect(await hint({ pattern: String.raw`\bpriceOf\b`, regex: true })).toBe(true);
    for (const pattern of ['text', 'two words', 'TODO', 'a.b(', '://'])
      expect(await hint({ pattern }), pattern).toBe(false);
    expect(await hint({ pattern: 'price.*Of', regex: true })).toBe(false);
    expect(await hint({ pattern: 'priceOf' }, await world.worker({ workspace }))).toBe(false);
  });

  test('[NAV3.13] a run’s lookups, and how it hands work on, are counted and on record with its end', async () => {
    await using workspace = await DirectoryWorkspace.make(files);
    await using world = await rig();
    const worker = await world.worker({ workspace, navigation: paper({ coverage: UNSURE }).navigation });
    await worker.call('navigate_to_symbol', { symbolName: 'area' });
    await worker.call('type_of', { symbolName: 'area', file: 'a.ts' });
    await worker.call('search_text', { pattern: 'x' });
    await worker.call('read_file', { path: 'lines.txt' });
    await worker.call('a2a_list_specialists', { task: 'review it' });
    await worker.call('a2a_spawn_subtask', { prompt: 'one', agentType: 'holder', blocking: false });
    await worker.call('a2a_spawn_parallel_subtasks', { subtasks: [{ prompt: 'two', agentType: 'holder' }] });
    await worker.call('a2a_spawn_subtask', { prompt: 'refused', agentType: 'nobody', blocking: false });
    const report = { status: 'success', output: 'It is done.', giveUpChildren: true };
    await worker.call('a2a_subtask_complete', report, { passing: true });
    const { run, end } = await world.person.getTask(worker.task);
    expect(end?.output).toBe('It is done.');
    expect(run?.counts).toEqual({
      navigation: 2,
      fromText: 2,
      search: 1,
      spawns: 2,
      specialists: 1,
      suggestions: 0,
    });
  });
});
