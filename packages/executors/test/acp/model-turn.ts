import { RequestError } from '@agentclientprotocol/sdk';
import { Telling, save, type Block, type Said } from './session.ts';
import { ToolCalls } from './tool-calls.ts';

interface Answer {
  readonly content: readonly Block[];
  readonly stop_reason: string;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

type Ended = { readonly stopReason: string; readonly usage: { readonly totalTokens: number } };

/** A turn as an agent has it that thinks with a model: it asks, does what it is told, and asks again. */
export class ModelTurn extends Telling {
  #tokens = 0;

  async play(prompt: string, url: string): Promise<Ended> {
    this.#settleOpenCalls();
    this.#hear({ role: 'user', content: prompt });
    await using tools = await ToolCalls.open(this.session.mcp);
    const offered = await tools.list();
    for (;;) {
      const answer = await this.#ask(url, offered);
      if (!answer) return this.#end('cancelled');
      this.#tokens += answer.usage.input_tokens + answer.usage.output_tokens;
      for (const { thinking, text } of answer.content) {
        if (thinking) await this.think(thinking);
        if (text) await this.say(text);
      }
      if (answer.stop_reason === 'refusal') return this.#end('refusal');
      if (answer.content.length > 0) this.#hear({ role: 'assistant', content: answer.content });
      const calls = answer.content.filter(({ type }) => type === 'tool_use');
      if (calls.length > 0) await this.#do(calls, tools);
      if (this.session.cancel.signal.aborted) return this.#end('cancelled');
      const words = this.session.steered.splice(0).join('\n');
      if (words) this.#hear({ role: 'user', content: words });
      if (calls.length === 0 && !words) return this.#end('end_turn');
    }
  }

  /** Whoever speaks to it from now on needs a new prompt: nothing is taken and then forgotten. */
  #end(stopReason: string): Ended {
    this.session.prompting = false;
    return { stopReason, usage: { totalTokens: this.#tokens } };
  }

  async #do(calls: readonly Block[], tools: ToolCalls): Promise<void> {
    const results: Block[] = [];
    for (const { id, name = '', input = {} } of calls) {
      await this.tool({ title: `reveille: ${name}`, kind: 'other', rawInput: input }, async () =>
        this.result(await tools.call(name, input, this.session.cancel.signal)),
      );
      results.push({ type: 'tool_result', tool_use_id: id, content: this.last });
    }
    this.#hear({ role: 'user', content: results });
  }

  /** Null: it was cancelled. */
  async #ask(
    url: string,
    offered: readonly { name: string; inputSchema: unknown }[],
  ): Promise<Answer | null> {
    const { messages, cancel } = this.session;
    const tools = offered.map(({ name, inputSchema }) => ({ name, input_schema: inputSchema }));
    const body = JSON.stringify({ model: 'scripted-1', max_tokens: 1_000, messages, tools });
    const headers = { 'content-type': 'application/json', 'x-api-key': process.env['MODEL_KEY'] ?? '' };
    try {
      const response = await fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers,
        body,
        signal: cancel.signal,
      });
      const said = await response.text();
      if (!response.ok) throw new RequestError(response.status, said);
      return JSON.parse(said) as Answer;
    } catch (error) {
      if (cancel.signal.aborted) return null;
      throw error;
    }
  }

  #hear(said: Said): void {
    this.session.messages.push(said);
    save(this.session);
  }

  /** Calls that a process died in have no result; a model is not asked without one. */
  #settleOpenCalls(): void {
    const last = this.session.messages.at(-1);
    if (last?.role !== 'assistant' || typeof last.content === 'string') return;
    const open = last.content.filter(({ type }) => type === 'tool_use');
    const content = open.map(({ id }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: 'It is not known what came of this.',
    }));
    if (content.length > 0) this.#hear({ role: 'user', content });
  }
}
