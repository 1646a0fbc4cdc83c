import type { Caller } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { toolsFor, type Tool } from '../src/index.ts';
import { inputSchema } from '../src/schema.ts';

/**
 * Tokens of a text, as the usual tokenizers count them: a word, a part of a camelCase name, three digits or up to four signs are
 * one. Tried on this catalogue beside the two public ones (o200k and cl100k, 18 November 2026): 1 % below the larger of them for
 * the whole of it, so 3 % are added. A tokenizer itself would be a dependency of 30 MB.
 */
const PIECES = /[A-Z]?[a-z]+|[A-Z]+|\d{1,3}|[^A-Za-z\d\s]+/g;
function tokensOf(text: string): number {
  const pieces = [...text.matchAll(PIECES)].map(([piece]) =>
    Math.ceil(piece.length / (/[a-z]/i.test(piece) ? 12 : 4)),
  );
  return Math.ceil(1.03 * pieces.reduce((sum, count) => sum + count, 0));
}

/** A tool as a model is told of it. */
const told = (tool: Tool): string =>
  JSON.stringify({ name: tool.name, description: tool.description, input_schema: inputSchema(tool) });

function costOf(caller: Caller['kind'], patterns: readonly string[] | null): number {
  const world = {
    caller: { kind: caller } as Caller,
    grants: patterns && { tools: patterns, deniedTools: [] },
    workspace: caller === 'worker' ? {} : null,
    navigation: caller === 'worker' ? {} : null,
  };
  return tokensOf(
    toolsFor(world as unknown as Parameters<typeof toolsFor>[0])
      .map(told)
      .join('\n'),
  );
}

describe('the catalogue', () => {
  test('[TOL4] a chat’s tools cost at most 3,500 tokens', () => {
    expect(costOf('session', null)).toBeLessThanOrEqual(3_500);
  });

  test('[TOL4] a worker’s tools cost at most 4,500 tokens', () => {
    expect(costOf('worker', ['*'])).toBeLessThanOrEqual(4_500);
  });

  test('[TOL4] the count is that of a tokenizer', () => {
    // Counted by o200k.
    expect(tokensOf('{"type":"object","properties":{"taskId":{"type":"string"}}}')).toBeGreaterThanOrEqual(
      14,
    );
    expect(tokensOf('Starts another agent on a task and waits for its result.')).toBeGreaterThanOrEqual(12);
  });
});
