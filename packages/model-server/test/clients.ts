import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';

export const MODEL = 'scripted-1';

/** The vendors' clients, each with its dialect. */
export const CLIENTS: Readonly<Record<string, (url: string, key?: string) => LanguageModel>> = {
  anthropic: (url, apiKey = 'k') => createAnthropic({ baseURL: `${url}/v1`, apiKey })('claude-sonnet-4-5'),
  'openai-chat': (url, apiKey = 'k') =>
    createOpenAICompatible({ name: 'local', baseURL: `${url}/v1`, apiKey, includeUsage: true })(MODEL),
  'openai-responses': (url, apiKey = 'k') => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses(MODEL),
  gemini: (url, apiKey = 'k') => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })(MODEL),
};

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A conversation in Anthropic's words, by hand. */
export async function ask(
  url: string,
  messages: readonly unknown[],
  also: Record<string, unknown> = {},
): Promise<RawAnswer> {
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
    body: JSON.stringify({ model: MODEL, max_tokens: 100, messages, tools: TOOLS, ...also }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export const TOOLS = ['mcp__reveille__a2a_spawn_subtask', 'read_file', 'ReportFindings', 'report'].map(
  (name) => ({ name, description: name, input_schema: { type: 'object' } }),
);

export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
}

/** The blocks of an answer in one piece. */
export function blocksOf({ text }: RawAnswer): Block[] {
  return (JSON.parse(text) as { content: Block[] }).content;
}

/** Plays an agent: asks, gives every call the same result, and goes on until the turn ends. */
export class Conversation {
  readonly messages: { role: string; content: unknown }[] = [];
  readonly said: string[] = [];
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** What was said and called in this turn. */
  async turn(text: string, result = 'fine', most = 50): Promise<string[]> {
    this.messages.push({ role: 'user', content: text });
    const from = this.said.length;
    for (let i = 0; i < most && (await this.step(result)); i++);
    return this.said.slice(from);
  }

  /** True: the turn goes on. */
  async step(result = 'fine'): Promise<boolean> {
    const answer = await ask(this.#url, this.messages);
    if (answer.status !== 200) throw new Error(answer.text);
    const content = blocksOf(answer);
    if (content.length > 0) this.messages.push({ role: 'assistant', content });
    this.said.push(content.map(({ type, text, name }) => (type === 'text' ? text : `→${name}`)).join(' '));
    const calls = content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return false;
    const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result }));
    this.messages.push({ role: 'user', content: results });
    return true;
  }
}
