import type { ToolWorkspace } from '@reveille/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toolsJson, type ListedTool } from '../src/index.ts';
import { DirectoryWorkspace } from './directory.ts';
import { paper } from './paper-navigation.ts';
import { rig, type Hands, type Rig } from './rig.ts';

type Schema = Record<string, unknown>;
const MEGABYTES = 'x'.repeat(10_000_000);
/** What no tool takes, wherever it is; then what is odd but may be taken. None of it does anything in a shell. */
const REFUSED = [MEGABYTES, 'a\0b', '\uD800', 'x\uDC00y'];
const ODD = ['\uFFFF\u202E'.repeat(1_000), '${x}`$(true)`"\'', '__proto__'];

/** An input that fits a schema, with every parameter in it. */
function sample(schema: Schema): unknown {
  const { type, enum: choices, items, properties, pattern, minimum } = schema;
  if (Array.isArray(choices)) return choices[0];
  if (type === 'string') return typeof pattern === 'string' ? idFor(pattern) : 'x';
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? minimum : 1;
  if (type === 'array') return [sample(items as Schema)];
  if (type !== 'object') return 'x';
  return Object.fromEntries(
    Object.entries((properties ?? {}) as Record<string, Schema>).map(([key, value]) => [key, sample(value)]),
  );
}

const idFor = (pattern: string): string =>
  /\b(task|plan|req|out)\b/
    .exec(pattern)?.[0]
    .concat(pattern.includes('out_') ? `_${'0'.repeat(24)}` : '_0zz') ?? 'x';

/** Every way to the strings of a value. */
function* strings(value: unknown, path: PropertyKey[] = []): Generator<PropertyKey[]> {
  if (typeof value === 'string') yield path;
  if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* strings(inner, [...path, key]);
}

function put(value: unknown, path: readonly PropertyKey[], leaf: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return leaf;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<PropertyKey, unknown>;
  copy[key] = put(copy[key], rest, leaf);
  return copy;
}

describe('hostile inputs', () => {
  const broken: unknown[] = [];
  let world: Rig;
  let workspace: DirectoryWorkspace;
  let hands: { worker: Hands; chat: Hands };
  beforeAll(async () => {
    workspace = await DirectoryWorkspace.make({ x: 'x\n' });
    world = await rig({
      settings: { children: { total: 10_000, open: 10_000, perMinute: 1_000_000, planned: 500 } },
    });
    const log = (_: string, message: string, data: unknown): void => void broken.push(message, data);
    // No command is run here, whatever gets through.
    const runCommand = (): Promise<never> => Promise.reject(new Error('a command got through'));
    const still: ToolWorkspace = { files: workspace.files, testCommand: () => null, runCommand };
    const { navigation } = paper();
    const worker = await world.worker({ workspace: still, navigation, log });
    hands = { worker, chat: await world.chat({ log }) };
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await workspace[Symbol.asyncDispose]();
  });

  const tools = toolsJson();
  const by = (tool: ListedTool): Hands => (tool.callers.includes('session') ? hands.chat : hands.worker);
  const attack = async (tool: ListedTool, input: unknown): Promise<string | null> => {
    const result = await by(tool).call(tool.name, input, { patienceMs: 0 });
    expect(result.text.length).toBeLessThan(30_000);
    expect(result.error?.code).not.toBe('internal');
    return result.error?.code ?? null;
  };

  test.each(tools)(
    '[TOL3.3] $name takes no string that is too long, no NUL, no half characters, wherever it is',
    async (tool) => {
      const good = sample(tool.inputSchema as Schema);
      for (const path of strings(good)) {
        for (const text of REFUSED)
          expect(await attack(tool, put(good, path, text)), `${tool.name} ${path.join('.')}`).toBe(
            'invalid_input',
          );
        // A command is run by a shell: what it is given in a test is written for that.
        if (tool.name !== 'run_command') for (const text of ODD) await attack(tool, put(good, path, text));
      }
      expect(broken).toEqual([]);
    },
  );

  test.each(tools)(
    '[TOL3.3] $name takes no keys that mean something else, and nothing that is nested without end',
    async (tool) => {
      const good = sample(tool.inputSchema as Schema) as object;
      const polluted = { ...good, ...JSON.parse('{"__proto__":{"isAdmin":true}}') } as object;
      Object.defineProperty(polluted, '__proto__', { value: { isAdmin: true }, enumerable: true });
      expect(await attack(tool, polluted)).toBe('invalid_input');
      for (const key of ['constructor', 'prototype', 'toString'])
        expect(await attack(tool, { ...good, [key]: {} })).toBe('invalid_input');
      let deep: unknown = 'x';
      for (let i = 0; i < 10_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep };
      for (const key of Object.keys(good))
        expect(await attack(tool, { ...good, [key]: deep })).toBe('invalid_input');
      for (const raw of ['{}', 7, [], [good], true]) expect(await attack(tool, raw)).toBe('invalid_input');
      expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
      expect(broken).toEqual([]);
    },
  );

  test('[TOL3.3] lists longer than a call can have arguments are refused, not choked on', async () => {
    const many = Array.from({ length: 300_000 }, () => 'task_0');
    const result = await hands.chat.call('a2a_await_subtasks', { taskIds: many });
    expect(result.text).toContain('too large');
  });

  test('[TOL3.3] whatever is sent, a tool answers and does not break', async () => {
    for (const tool of tools.filter(({ name }) => !['a2a_subtask_complete', 'run_command'].includes(name))) {
      const keys = Object.keys((tool.inputSchema as { properties: object }).properties);
      const record = fc.dictionary(
        fc.constantFrom(...keys, 'extra'),
        fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant('task_0zz')),
      );
      await fc.assert(
        fc.asyncProperty(record, async (input) => void (await attack(tool, input))),
        { numRuns: 20 },
      );
    }
    expect(broken).toEqual([]);
  });
});
