import { createHash } from 'node:crypto';
import type { Clock, ExecutorEvent, StartSpec } from '@reveille/core';
import { isReveilleError, type Orchestrator, type TaskView } from '@reveille/protocol';
import type { ModelMessage, ToolModelMessage } from 'ai';
import { costOf, mostOf } from '../prices/prices.ts';
import { contextOf, priceAt } from './endpoint.ts';
import { FaultError, faulty, mayHaveWorked, type Fault } from './faults.ts';
import type { Answer, Asked, Model, Reported } from './model.ts';
import { shortened, summaryRequest, type Past } from './shorten.ts';
import {
  endsRun,
  isReport,
  together,
  touched,
  type BuiltinResult,
  type BuiltinTool,
  type Call,
} from './tools.ts';
import type { Transcript } from './transcript.ts';

/** Who the agent is. */
export interface BuiltinRole {
  readonly system: string;
  /** Null: the one its endpoint is set to. */
  readonly model: string | null;
}

export interface LoopOptions {
  readonly spec: StartSpec;
  readonly clock: Clock;
  readonly chance: () => number;
  readonly model: Model;
  readonly role: BuiltinRole;
  readonly tools: () => Promise<readonly BuiltinTool[]>;
  readonly orchestrator: Orchestrator;
  readonly transcript: Transcript;
  readonly tell: (event: ExecutorEvent) => void;
  readonly retryWithinMs: number;
}

type ModelRequest = Omit<Asked, 'sign'>;

/** An answer with the tokens that its call took, reported or estimated. */
type Counted = Answer & { readonly size: number };

/** One call of the model, while it is made. `input`: tokens that it sends, as far as that can be known. */
interface BudgetedCall {
  readonly id: string;
  readonly name: string;
  readonly input: number;
  /** Characters of the answer so far. */
  arrived: number;
}

/** `over`: the run is, and whoever holds it is about to say so. */
export type TurnEnd = { readonly kind: 'rests'; readonly words: string } | { readonly kind: 'over' };

const MAIL_FIRST = 'Not reported yet: mail came for you while you wrote this. Read it, then report again.';
const CUT = 'Your answer was cut because it was too long. Go on; make smaller steps.';
const SMALLER = 'Make fewer calls at once, with shorter arguments.';
const MOST_CUTS = 3;
/** An answer that is too large is asked for again so often; then the run fails. */
const MOST_DROPPED = 3;
/** Of a conversation in its largest permitted form, what is left for the answer and for what was estimated wrong. */
const FULL = 0.8;
const CHARS_PER_TOKEN = 4;
/** How long an answer may be where a budget has to know, and nobody has set it. */
const OUTPUT_TOKENS = 8_192;
/** How long an address that nobody ever answered at is tried. */
const FIRST_REACH_MS = 3_000;

/** Asks the model, does what it wants done, tells it what came of it, until it wants nothing more. */
export class Loop {
  readonly #options: LoopOptions;
  #numbers = 0;
  /** Tokens of the conversation as of the last answer. */
  #size = 0;
  /** Characters of what was sent then. */
  #sent = 0;
  #words = '';
  /** What reading calls have given so far: the same again is no news. */
  readonly #known = new Set<string>();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** A turn, or more of one: its last words are those of all of it. */
  async play(signal: AbortSignal, { more = false } = {}): Promise<TurnEnd> {
    const { transcript } = this.#options;
    if (!more) this.#words = '';
    let [cuts, dropped] = [0, 0];
    for (;;) {
      transcript.takeMail();
      const tools = await this.#options.tools();
      if (this.#size > contextOf(this.#options.model.endpoint) * FULL) await this.#shorten(signal);
      const answer = await this.#answer(tools, signal).catch((error: unknown) => oversized(error, dropped));
      if ('oversized' in answer) {
        dropped++;
        await this.#drop(answer.oversized);
        continue;
      }
      dropped = 0;
      await transcript.answer(answer.message);
      this.#tellAnswer(answer);
      if (answer.end === 'refusal') throw faulty('refusal', answer.text || 'the model refused');
      if (answer.calls.length > 0) {
        if (await this.#act(answer.calls, tools, signal)) return { kind: 'over' };
        if (answer.end === 'cut') await transcript.note(CUT);
        cuts = 0;
        continue;
      }
      if (answer.end === 'cut' && ++cuts <= MOST_CUTS) {
        await transcript.note(CUT);
        continue;
      }
      return { kind: 'rests', words: this.#words };
    }
  }

  #tellAnswer({ text, thought, size }: Counted): void {
    const { tell } = this.#options;
    this.#size = size;
    if (thought !== '') tell({ type: 'thought', text: thought });
    if (text === '') return;
    this.#words = text;
    tell({ type: 'output', text });
  }

  /** An answer that is too large is forgotten, told to the model, and counts like a call that failed. */
  async #drop(why: string): Promise<void> {
    const { spec, tell, transcript } = this.#options;
    const id = `${spec.epoch}-${++this.#numbers}`;
    tell({ type: 'tool_call', id, name: 'answer', digest: why });
    tell({ type: 'tool_end', id, failed: true, news: false });
    await transcript.answer(null);
    await transcript.note(`Your answer was dropped: ${why}. None of its calls was made. ${SMALLER}`);
  }

  /** One answer, whatever it takes: a conversation that is too long is shortened, once. */
  async #answer(tools: readonly BuiltinTool[], signal: AbortSignal): Promise<Counted> {
    const { role, transcript } = this.#options;
    const asked = (): ModelRequest => ({
      model: role.model,
      system: role.system,
      messages: transcript.messages,
      tools,
      signal,
    });
    try {
      return await this.#patiently(asked());
    } catch (error) {
      if (!(error instanceof FaultError) || !error.fault.tooLong) throw error;
      await this.#shorten(signal);
      return await this.#patiently(asked());
    }
  }

  /** Faults that pass are waited out for a while; then it is the engine's turn to wait, which holds no slot meanwhile. */
  async #patiently(asked: ModelRequest): Promise<Counted> {
    const { clock, model, retryWithinMs } = this.#options;
    const since = clock.mono();
    for (let tries = 0; ; tries++) {
      try {
        return await this.#once(asked);
      } catch (error) {
        asked.signal.throwIfAborted();
        const fault = model.fault(error);
        const patience = fault.class === 'invalid' ? FIRST_REACH_MS : retryWithinMs;
        const pause = this.#pause(fault, tries);
        if (!fault.transient || clock.mono() - since + pause > patience) throw new FaultError(fault);
        await wait(clock, pause, asked.signal);
      }
    }
  }

  #pause({ retryAfterMs }: Fault, tries: number): number {
    if (retryAfterMs !== null) return retryAfterMs;
    return Math.min(30_000, 500 * 2 ** tries) * (0.5 + this.#options.chance() / 2);
  }

  /** One call of the model. What it may use is set aside before (LIM1), and what it used is told, whatever came of it. */
  async #once(asked: ModelRequest): Promise<Counted> {
    const { model, spec, tell } = this.#options;
    const id = `${spec.epoch}-${++this.#numbers}`;
    const name = asked.model ?? model.endpoint.model;
    const call: BudgetedCall = { id, name, input: this.#estimate(asked), arrived: 0 };
    const bound = spec.task.budget === null ? {} : await this.#setAside(call);
    const sign = (characters: number): void => {
      call.arrived += characters;
      tell({ type: 'sign' });
    };
    try {
      const answer = await model.ask({ ...asked, ...bound, sign });
      this.#sent = textOf(asked);
      // Some calls of tools come in one piece.
      call.arrived = Math.max(call.arrived, JSON.stringify(answer.message ?? '').length);
      return { ...answer, size: this.#tellUsage(call, answer.used) };
    } catch (error) {
      // A model that refused a call, or was not reached, took nothing for it.
      if (call.arrived > 0 || mayHaveWorked(error, model.fault(error))) this.#tellUsage(call, null);
      else tell({ type: 'usage', id, tokens: 0, usd: 0 });
      throw error;
    }
  }

  async #setAside({ id, name, input }: BudgetedCall): Promise<{ readonly maxOutputTokens: number }> {
    const { model, spec } = this.#options;
    const maxOutputTokens = model.endpoint.maxOutputTokens ?? OUTPUT_TOKENS;
    const usd = mostOf(priceAt(model.endpoint, name), { input, output: maxOutputTokens });
    const most = { tokens: input + maxOutputTokens, ...(usd === null ? {} : { usd }) };
    const { granted, why } = await spec.reserve(id, most);
    if (!granted) throw faulty('budget', why ?? 'the budget is used up');
    return { maxOutputTokens };
  }

  /** What the endpoint says, or an estimate where it says nothing. Answers with all tokens of the call. */
  #tellUsage({ id, name, input: sent, arrived }: BudgetedCall, used: Reported | null): number {
    const { model, tell } = this.#options;
    const input = used?.input ?? sent;
    const output = used?.output ?? Math.ceil(arrived / CHARS_PER_TOKEN);
    const { cached = 0, written = 0 } = used ?? {};
    const usd = costOf(priceAt(model.endpoint, name), { input, cached, written, output });
    const estimated = used === null || used.input === null || used.output === null;
    const tokens = input + output;
    tell({ type: 'usage', id, tokens, usd, model: name, input, cached, output, estimated });
    return tokens;
  }

  /** What is sent, as far as it can be known: what the last call was told to be, and what has come since. */
  #estimate(asked: ModelRequest): number {
    const text = textOf(asked);
    if (this.#size === 0) return Math.ceil(text / CHARS_PER_TOKEN);
    return this.#size + Math.ceil(Math.max(0, text - this.#sent) / CHARS_PER_TOKEN);
  }

  /** True: the run is over. */
  async #act(calls: readonly Call[], tools: readonly BuiltinTool[], signal: AbortSignal): Promise<boolean> {
    const { transcript } = this.#options;
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const results = new Map<string, BuiltinResult>();
    for (const group of together(calls, byName))
      await Promise.all(
        group.map(async (call) => results.set(call.id, await this.#call(call, byName, signal))),
      );
    const content = calls.map((call) => resultPart(call, results.get(call.id)));
    await transcript.results({ role: 'tool', content });
    signal.throwIfAborted();
    return calls.some((call) => {
      const result = results.get(call.id);
      return result !== undefined && endsRun(call, result);
    });
  }

  async #call(
    call: Call,
    tools: ReadonlyMap<string, BuiltinTool>,
    signal: AbortSignal,
  ): Promise<BuiltinResult> {
    const { spec, tell, transcript } = this.#options;
    const digest = `${call.name} ${JSON.stringify(call.input)}`;
    const id = `${spec.epoch}-${++this.#numbers}`;
    // Local models number their calls from the start in every answer.
    const callId = `${spec.run}:${transcript.answers}:${call.id}`;
    tell({ type: 'tool_call', id, name: call.name, digest: digest.length > 500 ? hashed(digest) : digest });
    const result = await this.#execute(call, tools, { callId, signal });
    const path = touched(call, result);
    if (path !== null) tell({ type: 'file_touched', path });
    const news = this.#isNews(tools.get(call.name), digest, result);
    tell({ type: 'tool_end', id, failed: result.isError, news });
    return result;
  }

  async #execute(
    call: Call,
    tools: ReadonlyMap<string, BuiltinTool>,
    how: Parameters<BuiltinTool['execute']>[1],
  ): Promise<BuiltinResult> {
    const tool = tools.get(call.name);
    // As the catalogue says it over MCP (TOL1).
    if (!tool)
      return failed(
        `You may not use ${JSON.stringify(call.name.slice(0, 80))}. What you have: ${[...tools.keys()].join(', ')}.`,
      );
    // A report ends the run, and with it the chance to read what came since the model was asked.
    if (isReport(call) && this.#options.transcript.hasMail) return failed(MAIL_FIRST);
    return tool.execute(call.input, how);
  }

  #isNews(tool: BuiltinTool | undefined, digest: string, { text, isError }: BuiltinResult): boolean {
    if (isError) return false;
    if (!tool?.readOnly) return true;
    const hash = hashed(`${digest}\0${text}`);
    const news = !this.#known.has(hash);
    if (this.#known.size < 10_000) this.#known.add(hash);
    return news;
  }

  /** What must not be forgotten stays: the task, the mail, the subtasks. The rest becomes a summary. */
  async #shorten(signal: AbortSignal): Promise<void> {
    const { model, transcript, tell } = this.#options;
    const { messages: all } = transcript;
    const past: Past = {
      messages: all,
      task: transcript.task ?? '',
      letters: transcript.letters,
      children: await this.#children(),
      // Half of what it is, at most: a model that says it is too long knows better than any setting.
      room: Math.min(contextOf(model.endpoint) * CHARS_PER_TOKEN, JSON.stringify(all).length) * 0.5,
    };
    tell({ type: 'sign' });
    const summary = await this.#summary(summaryRequest(past), signal);
    await transcript.shorten(shortened(past, summary));
    this.#size = 0;
  }

  /** What the model makes of it; null: nothing, and then what it called is listed. */
  async #summary(messages: readonly ModelMessage[] | null, signal: AbortSignal): Promise<string | null> {
    if (!messages) return null;
    const { role } = this.#options;
    try {
      return (await this.#once({ ...role, messages, tools: [], signal })).text;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FaultError && error.fault.class === 'budget') throw error;
      return null;
    }
  }

  async #children(): Promise<string> {
    const { orchestrator, spec } = this.#options;
    const children: readonly TaskView[] = await orchestrator
      .listTasks({ owner: spec.session })
      .catch((error: unknown) => {
        if (isReveilleError(error)) return [];
        throw error;
      });
    if (children.length === 0) return 'You have no subtasks.';
    const lines = children
      .slice(-200)
      .map(({ task }) => `- ${task.id} ${JSON.stringify(task.name)}: ${task.state}`);
    return `Your subtasks:\n${lines.join('\n')}`;
  }
}

/** The words about an answer that is too large; anything else, or one too many, is thrown on. */
function oversized(error: unknown, before: number): { readonly oversized: string } {
  if (!(error instanceof FaultError) || !error.fault.oversized || before >= MOST_DROPPED) throw error;
  return { oversized: error.message };
}

/** Characters of all that a call sends. */
const textOf = ({ messages, system, tools }: ModelRequest): number =>
  JSON.stringify(messages).length +
  system.length +
  JSON.stringify(tools.map(({ name, description, inputSchema }) => [name, description, inputSchema])).length;

function resultPart(call: Call, result: BuiltinResult | undefined): ToolModelMessage['content'][number] {
  const { text, isError, notice } = result ?? failed('It was not called.');
  const value = notice === null ? text : `${text}\n${notice}`;
  const output = { type: isError ? 'error-text' : 'text', value } as const;
  return { type: 'tool-result', toolCallId: call.id, toolName: call.name, output };
}

const failed = (text: string): BuiltinResult => ({
  text,
  structured: null,
  isError: true,
  error: null,
  notice: null,
});

const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url');

function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
