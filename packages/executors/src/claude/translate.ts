import { createHash } from 'node:crypto';
import type { ExecutorEvent } from '@reveille/core';
import type { Block, ClaudeMessage } from './sdk.ts';

const LONGEST = 20_000;
const REMEMBERED = 500;
const TOUCHING = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);

/** What the messages of one agent say, in the words of every backend. It only remembers which results it has seen. */
export class Translator {
  readonly #results = new Set<string>();
  /** Which file a call would change. */
  readonly #touching = new Map<string, string>();

  /**
   * Messages of the agent itself become what they say, and messages of agents that it started become signs of life. Status
   * messages, heartbeats, progress of tools and echoes of what it was told become nothing, because the program makes them up
   * while its model is silent (HLT1).
   */
  events(message: ClaudeMessage): ExecutorEvent[] {
    if (isPiece(message)) return [{ type: 'sign' }];
    const content = message.message?.content;
    if (content === undefined || typeof content === 'string') return [];
    if (message.type !== 'assistant' && message.type !== 'user') return [];
    if (message.parent_tool_use_id) return [{ type: 'sign' }];
    if (message.type === 'assistant') return content.flatMap((block) => this.#said(block));
    return content.flatMap((block) => this.#ended(block));
  }

  /** News is what no call before brought: an agent that gets the same again and again goes in a circle. */
  #ended(block: Block): ExecutorEvent[] {
    const { tool_use_id: id, is_error: failed = false, content } = block;
    if (block.type !== 'tool_result' || id === undefined) return [];
    const digest = digestOf(content);
    const news = !this.#results.has(digest);
    this.#results.add(digest);
    const oldest = this.#results.size > REMEMBERED ? this.#results.values().next().value : undefined;
    if (oldest !== undefined) this.#results.delete(oldest);
    const path = this.#touching.get(id);
    this.#touching.delete(id);
    const end: ExecutorEvent = { type: 'tool_end', id, failed, news };
    return path === undefined || failed ? [end] : [{ type: 'file_touched', path }, end];
  }

  #said(block: Block): ExecutorEvent[] {
    const { type, id, name, input } = block;
    if (type === 'text') return [{ type: 'output', text: (block.text ?? '').slice(0, LONGEST) }];
    if (type === 'thinking') return [{ type: 'thought', text: (block.thinking ?? '').slice(0, LONGEST) }];
    if (type !== 'tool_use' || id === undefined || name === undefined) return [{ type: 'sign' }];
    const path = TOUCHING.has(name) ? pathOf(input) : null;
    if (path !== null) this.#touching.set(id, path);
    return [{ type: 'tool_call', id, name: plainName(name), digest: digestOf([name, input]) }];
  }
}

/** A piece of an answer that the model is giving now: a block that begins or grows, or thoughts that are not shown. */
function isPiece({ type, subtype, event }: ClaudeMessage): boolean {
  if (subtype === 'thinking_tokens') return true;
  return (
    type === 'stream_event' && ['content_block_start', 'content_block_delta'].includes(event?.type ?? '')
  );
}

/** A tool of ours has the name that it has everywhere. */
export const plainName = (name: string): string => name.replace(/^mcp__reveille__/, '');

export function pathOf(input: unknown): string | null {
  if (typeof input !== 'object' || input === null) return null;
  for (const key of ['file_path', 'notebook_path', 'path']) {
    const value = (input as Record<string, unknown>)[key];
    if (typeof value === 'string') return value;
  }
  return null;
}

function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64url')
    .slice(0, 16);
}
