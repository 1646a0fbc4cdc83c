import { createHash } from 'node:crypto';
import type { ExecutorEvent } from '@reveille/core';
import { Tail } from './lines.ts';
import { at, brief, fieldsOf, listOf, textOf, type Fields } from './shapes.ts';

/** What is kept of what an agent says: its last words. */
const WORDS = 8_000;
const NAME = 120;
/** Results that are remembered to tell news from the same again. */
const REMEMBERED = 512;
const OPEN_CALLS = 1_000;

interface Call {
  readonly id: string;
  fields: Fields;
  told: boolean;
}

type Tell = (event: ExecutorEvent) => void;

/** Turns an agent's updates into events. It keeps as much as fits into a few thousand characters, however much comes. */
export class Listener {
  readonly #tell: Tell;
  readonly #words = new Tail(WORDS);
  readonly #calls = new Map<string, Call>();
  readonly #results = new Set<string>();
  #speaking = false;
  #lastTold = 0;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  /** What it said since the last call or the beginning of the turn. */
  get lastWords(): string {
    return this.#words.text;
  }

  turnBegins(): void {
    this.#words.clear();
    this.#speaking = false;
    this.#calls.clear();
  }

  turnEnds(): void {
    this.#flush();
    this.#calls.clear();
  }

  /** One `session/update` of a turn. */
  hear(update: unknown): void {
    const fields = fieldsOf(update);
    switch (fields['sessionUpdate']) {
      case 'agent_message_chunk':
        return this.#says(textOf(at(fields, 'content', 'text')));
      case 'agent_thought_chunk':
        return this.#tell({ type: 'thought', text: textOf(at(fields, 'content', 'text')) });
      case 'tool_call':
      case 'tool_call_update':
        return this.#calling(fields);
      case 'plan':
        return this.#tell({ type: 'thought', text: '' });
      default:
        // Modes, commands, titles: some come by themselves, so they do not even show that it has heard us.
        return undefined;
    }
  }

  /** What is known of a call, also from earlier words about it: a request for permission may say very little. */
  callOf(toolCall: unknown): Fields {
    const fields = fieldsOf(toolCall);
    const known = this.#calls.get(textOf(fields['toolCallId']))?.fields ?? {};
    return { ...known, ...present(fields) };
  }

  /** The first word at once, then a few times a second: who listens wants to know what it says, not each syllable. */
  #says(text: string): void {
    if (text === '') return;
    if (!this.#speaking) this.#words.clear();
    this.#words.add(text);
    const now = performance.now();
    const due = !this.#speaking || now - this.#lastTold > 200;
    this.#speaking = true;
    if (!due) return;
    this.#lastTold = now;
    this.#tell({ type: 'output', text: this.#words.text });
  }

  #flush(): void {
    if (this.#speaking) this.#tell({ type: 'output', text: this.#words.text });
    this.#speaking = false;
  }

  #calling(fields: Fields): void {
    const id = textOf(fields['toolCallId']);
    if (id === '') return;
    const call = this.#calls.get(id) ?? { id, fields: {}, told: false };
    call.fields = { ...call.fields, ...present(fields) };
    if (!this.#calls.has(id) && this.#calls.size < OPEN_CALLS) this.#calls.set(id, call);
    const status = textOf(fields['status']);
    const ended = status === 'completed' || status === 'failed';
    // Some announce a call before they know its arguments: without them every call of a tool looks the same.
    const known = call.fields['rawInput'] !== undefined || (status !== '' && status !== 'pending');
    if (known || ended) this.#tellCall(call);
    if (!ended) return;
    this.#tellFiles(call);
    this.#tell({ type: 'tool_end', id, failed: status === 'failed', news: this.#isNews(call) });
    this.#calls.delete(id);
  }

  #tellCall(call: Call): void {
    if (call.told) return;
    call.told = true;
    this.#flush();
    const { title, name, kind, rawInput, locations } = call.fields;
    const said = textOf(name) || textOf(title) || textOf(kind) || 'a tool';
    const digest = digestOf([textOf(title), textOf(kind), rawInput, locations]);
    this.#tell({ type: 'tool_call', id: call.id, name: said.slice(0, NAME), digest });
  }

  #tellFiles({ fields }: Call): void {
    const content = listOf(fields['content']).map(fieldsOf);
    const diffs = content.filter(({ type }) => type === 'diff').map(({ path }) => textOf(path));
    const changes = ['edit', 'delete', 'move'].includes(textOf(fields['kind']));
    const places = changes ? listOf(fields['locations']).map((place) => textOf(at(place, 'path'))) : [];
    const failed = fields['status'] === 'failed';
    for (const path of new Set([...diffs, ...places]))
      if (path !== '' && !failed) this.#tell({ type: 'file_touched', path });
  }

  /** The same result again is no news, whichever call brought it. */
  #isNews({ fields }: Call): boolean {
    const digest = digestOf([fields['content'], fields['rawOutput']]);
    const known = this.#results.has(digest);
    this.#results.delete(digest);
    this.#results.add(digest);
    const [oldest] = this.#results;
    if (this.#results.size > REMEMBERED && oldest !== undefined) this.#results.delete(oldest);
    return !known;
  }
}

/** Fields that say something: an update names only what it changes, some with null for the rest. */
const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

const digestOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(brief(parts, 1_000_000)).digest('hex').slice(0, 24);
