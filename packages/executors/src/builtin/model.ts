import { knownAmount, type Clock } from '@reveille/core';
import type { AssistantModelMessage, ModelMessage, ToolSet } from 'ai';
import { AnswerBound } from './answer-bound.ts';
import { missing, type Endpoint } from './endpoint.ts';
import { faultOf, faulty, wasAnswered, type Fault } from './faults.ts';
import { loadSdk, type Sdk } from './sdk.ts';
import type { BuiltinTool, Call } from './tools.ts';

/** Everything a model says to one request. */
export interface Answer {
  /** As it goes back into the conversation; null: it said nothing at all. */
  readonly message: AssistantModelMessage | null;
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly Call[];
  /** As far as the endpoint says it; many say nothing. */
  readonly used: Reported;
  readonly end: 'done' | 'cut' | 'refusal';
}

/** What an endpoint says of one call; null: nothing, or what cannot be. */
export interface Reported {
  readonly input: number | null;
  readonly cached: number;
  readonly written: number;
  readonly output: number | null;
}

export interface Asked {
  readonly model?: string | null;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly BuiltinTool[];
  readonly signal: AbortSignal;
  /** How long the answer may be; absent: as its endpoint is set. */
  readonly maxOutputTokens?: number;
  /** The endpoint sent a piece of the answer, with this many characters. */
  readonly sign: (characters: number) => void;
}

export interface ModelOptions {
  readonly clock: Clock;
  readonly endpoint: Endpoint;
  /** Without a piece of an answer for so long, the call is given up. */
  readonly stallMs: number;
}

/** One endpoint. It throws what `fault` understands. */
export class Model {
  readonly #options: ModelOptions;
  /** Somebody answered there before: if nobody does now, that is likely to pass. */
  #answered = false;

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  get endpoint(): Endpoint {
    return this.#options.endpoint;
  }

  fault(error: unknown): Fault {
    const fault = faultOf(error, this.endpoint);
    if (wasAnswered(error)) this.#answered = true;
    return fault.unreachable && !this.#answered ? { ...fault, class: 'invalid' } : fault;
  }

  async ask(asked: Asked): Promise<Answer> {
    const endpoint = { ...this.endpoint, model: asked.model ?? this.endpoint.model };
    const why = missing(endpoint);
    if (why) throw faulty(why.class, why.message);
    const sdk = await loadSdk().catch((error: unknown) => {
      throw faulty('invalid', error instanceof Error ? error.message : String(error));
    });
    const stall = this.#watch();
    const signal = AbortSignal.any([asked.signal, stall.signal]);
    try {
      const answer = await collect(sdk, endpoint, {
        ...asked,
        signal,
        sign: (characters) => (stall.sign(), asked.sign(characters)),
      });
      this.#answered = true;
      return answer;
    } catch (error) {
      if (stall.signal.aborted && !asked.signal.aborted)
        throw faulty('network', `the model said nothing for ${this.#options.stallMs / 1_000} s`, {
          transient: true,
        });
      throw error;
    } finally {
      stall.end();
    }
  }

  #watch(): { readonly signal: AbortSignal; sign(): void; end(): void } {
    const { clock, stallMs } = this.#options;
    const given = new AbortController();
    const arm = (): (() => void) => clock.after(stallMs, () => given.abort());
    let cancel = arm();
    return {
      signal: given.signal,
      sign() {
        cancel();
        cancel = arm();
      },
      end: () => cancel(),
    };
  }
}

/** Reads a stream to its end. The SDK puts some errors into the stream and throws others; the first one counts. */
async function collect(sdk: Sdk, endpoint: Endpoint, asked: Asked): Promise<Answer> {
  const { signal, tools, system, messages } = asked;
  const maxOutputTokens = asked.maxOutputTokens ?? endpoint.maxOutputTokens;
  const cached = endpoint.provider === 'anthropic' ? CACHED : {};
  const bound = new AnswerBound();
  const result = sdk.ai.streamText({
    model: sdk.model(endpoint, bound.fetch),
    instructions: { role: 'system', content: system, ...cached },
    messages: markLast(messages, cached),
    tools: offered(sdk, tools),
    abortSignal: AbortSignal.any([signal, bound.signal]),
    maxRetries: 0,
    providerOptions: PLAIN,
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
    onError: () => undefined,
  });
  // Whoever does not wait for these would be told that nobody caught their errors.
  for (const promise of [result.response, result.usage, result.finishReason])
    Promise.resolve(promise).catch(() => undefined);
  const heard = { text: '', thought: '', calls: [] as Call[] };
  for await (const part of result.stream) {
    if (SENT.has(part.type)) asked.sign(lengthOf(part));
    bound.check();
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') heard.text += part.text;
    if (part.type === 'reasoning-delta') heard.thought += part.text;
    if (part.type === 'tool-call')
      heard.calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    bound.hear(part);
  }
  signal.throwIfAborted();
  bound.check();
  const usage = await result.usage;
  const used = {
    input: reported(usage.inputTokens),
    cached: reported(usage.inputTokenDetails.cacheReadTokens) ?? 0,
    written: reported(usage.inputTokenDetails.cacheWriteTokens) ?? 0,
    output: reported(usage.outputTokens),
  };
  const reason = await result.finishReason;
  const end = reason === 'length' ? 'cut' : reason === 'content-filter' ? 'refusal' : 'done';
  return { ...heard, used, end, message: messageOf((await result.response).messages) };
}

/**
 * Parts of a stream that only the endpoint can cause. The SDK emits the others by itself: `start` before the request has left,
 * `start-step`, and the `…-end` and `finish…` parts also when nothing was sent.
 */
const SENT: ReadonlySet<string> = new Set([
  'text-start',
  'text-delta',
  'reasoning-start',
  'reasoning-delta',
  'tool-input-start',
  'tool-input-delta',
  'tool-call',
]);

/** A call takes tokens: one that is said to take none is not reported. */
const reported = (tokens: number | undefined): number | null => knownAmount(tokens) || null;

/** Characters of an answer that a piece of the stream brings. */
function lengthOf(part: {
  readonly type: string;
  readonly text?: unknown;
  readonly delta?: unknown;
}): number {
  const text = part.type === 'tool-input-delta' ? part.delta : part.type.endsWith('-delta') ? part.text : '';
  return typeof text === 'string' ? text.length : 0;
}

/** Endpoints that only speak like Anthropic's know no streams of half-made inputs, and nobody here looks at them. */
const PLAIN = { anthropic: { toolStreaming: false } };

/** What was said so far is read again with every call; this makes it cheap where the vendor can. */
const CACHED = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } };

function markLast(messages: readonly ModelMessage[], cached: Partial<typeof CACHED>): ModelMessage[] {
  return messages.map((message, i) => (i === messages.length - 1 ? { ...message, ...cached } : message));
}

/** Without `execute`: the loop runs them itself. What is wrong with an input, the tool says better than a schema. */
function offered({ ai }: Sdk, tools: readonly BuiltinTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      ai.tool({ description, inputSchema: ai.jsonSchema(inputSchema as object) }),
    ]),
  );
}

function messageOf(messages: readonly ModelMessage[]): AssistantModelMessage | null {
  const message = messages.find(({ role }) => role === 'assistant');
  if (message?.role !== 'assistant') return null;
  if (typeof message.content === 'string') return message.content === '' ? null : message;
  // The SDK notes when a message began; nobody needs that back.
  const content = message.content.filter(({ type }) => type !== 'custom');
  return content.length === 0 ? null : { role: 'assistant', content };
}
