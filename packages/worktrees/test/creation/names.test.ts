import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { branchIsFree, folded, isRefName, namesFor, type CheckoutName } from '../../src/creation/names.ts';

const PREFIX = 'reveille';
const first = (task: string, plan = 'plan', id = 'task_1'): CheckoutName => named({ plan, task, id })[0]!;
const named = (
  parts: { plan: string; task: string; id: string },
  count = 4,
  prefix = PREFIX,
): CheckoutName[] => Array.from(takeFrom(namesFor(parts, prefix), count));

function* takeFrom<T>(source: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const each of source) {
    if (left-- <= 0) return;
    yield each;
  }
}

/** Not the unit `binary` of fast-check, which makes a table of a million characters first. */
const character = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));
/** Every kind of string a task can be called. */
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: character, maxLength: 200 }),
  fc.constantFrom(
    '',
    ' ',
    '.',
    '..',
    '-',
    '--help',
    '@{',
    'a.lock',
    'CON',
    'nul.txt',
    'a/b',
    'x'.repeat(10_000),
    '漢'.repeat(5_000),
  ),
);
const anyParts = fc.record({ plan: anyText, task: anyText, id: fc.string() });

describe('names', () => {
  it('[WKT1.5] are safe as a branch and as a folder, whatever plan and task are called', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        for (const { name, branch } of named(parts)) {
          expect(isRefName(branch)).toBe(true);
          expect(branch.split('/')).toHaveLength(3);
          for (const piece of [name, ...branch.split('/')]) {
            expect(piece).toBe(piece.normalize('NFC'));
            expect(piece).toMatch(/^[\p{L}\p{N}]([\p{L}\p{M}\p{N}._-]*[\p{L}\p{M}\p{N}])?$/u);
            expect(piece).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i);
            expect(piece).not.toMatch(/\.\.|\.lock$/i);
            expect(Buffer.byteLength(piece)).toBeLessThan(200);
          }
        }
      }),
    );
  });

  it('[WKT1.6] go on for ever and never repeat, also for a file system that tells no cases apart', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        const all = named(parts, 20);
        expect(new Set(all.map(({ name }) => folded(name))).size).toBe(20);
        expect(new Set(all.map(({ branch }) => folded(branch))).size).toBe(20);
      }),
    );
  });

  it('[WKT1.6] tell tasks of the same name apart by their ids', () => {
    const [, a] = named({ plan: 'p', task: 't', id: 'task_a' });
    const [, b] = named({ plan: 'p', task: 't', id: 'task_b' });
    expect(a?.branch).toMatch(/^reveille\/p\/t-[0-9a-z]{6}$/);
    expect(a?.branch).not.toBe(b?.branch);
  });

  it('[WKT1.6] stand beside each other: no branch is the folder of another', () => {
    expect(branchIsFree('reveille/p/a', ['reveille/p/b', 'reveille/p/ab', 'main'])).toBe(true);
    expect(branchIsFree('reveille/p/a', ['reveille/p/a/b'])).toBe(false);
    expect(branchIsFree('reveille/p/a/b', ['reveille/p/a'])).toBe(false);
    expect(branchIsFree('reveille/p/Straße', ['reveille/p/STRASSE'])).toBe(false);
    expect(branchIsFree('reveille/p/\u00e9', ['reveille/p/e\u0301'])).toBe(false);
  });

  it.each([
    ['fix-login', 'fix-login'],
    ['Fix the login', 'Fix-the-login'],
    ['v1.2', 'v1.2'],
    ['Größe_ändern', 'Größe_ändern'],
    ['修复登录', '修复登录'],
    ['исправить вход', 'исправить-вход'],
    ['إصلاح', 'إصلاح'],
    ['नमस्ते', 'नमस्ते'],
  ])('[WKT1.7] keep what is a word in any script: %s', (task, kept) => {
    expect(first(task)).toEqual({ name: `plan-${kept}`, branch: `reveille/plan/${kept}` });
  });

  it.each([
    ['', /^task-\w{6}$/],
    ['🚀🚀', /^task-\w{6}$/],
    ['ship it 🚀', /^ship-it-\w{6}$/],
    ['../../etc/passwd', /^etc-passwd-\w{6}$/],
    ['--upload-pack=x', /^upload-pack-x-\w{6}$/],
    ['main.lock', /^main-lock-\w{6}$/],
    ['a@{1}', /^a-1-\w{6}$/],
    ['$(id);`x`', /^id-x-\w{6}$/],
    ['CON', /^CON-\w{6}$/],
    ['aux.c', /^aux-c-\w{6}$/],
    ['end...', /^end-\w{6}$/],
    ['a\u0000b\u001b[31m', /^a-b-31m-\w{6}$/],
    ['a\u202eb', /^ab-\w{6}$/],
    ['e\u0301', /^\u00e9-\w{6}$/],
    ['\ud800x', /^x-\w{6}$/],
  ])('[WKT1.5][WKT1.7] are made of what is left, and marked as changed: %j', (task, expected) => {
    expect(first(task).branch.split('/')[2]).toMatch(expected);
  });

  it('[WKT1.5][WKT1.7] are cut between two signs when they are too long', () => {
    expect(first('x'.repeat(10_000)).branch).toMatch(/\/x{73}-\w{6}$/);
    expect(first('漢'.repeat(10_000)).branch).toMatch(/\/漢{24}-\w{6}$/);
  });

  it('[WKT1.7] have the plan’s name before the task’s, made safe the same way', () => {
    expect(first('t', 'My plan').name).toBe('My-plan-t');
    expect(first('t', '🚀').name).toMatch(/^plan-\w{6}-t$/);
    expect(first('t', '🚀').branch).not.toBe(first('t', '🚢').branch);
  });

  it('[WKT1.8] have the prefix of the settings, which must be a name for branches', () => {
    expect(named({ plan: 'p', task: 't', id: 'i' }, 1, 'agents/mine')[0]?.branch).toBe('agents/mine/p/t');
    for (const prefix of ['', '/', 'a//b', '-x', 'a..b', 'a b', 'a.lock', 'refs/', '@{', 'x'.repeat(300)])
      expect(() => named({ plan: 'p', task: 't', id: 'i' }, 1, prefix)).toThrow(/branch prefix/);
  });
});
