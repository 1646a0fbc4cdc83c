import { createHash } from 'node:crypto';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { ExecutorEvent } from '@reveille/core';
import { Tail } from './lines.ts';
import { at, brief, charsOf, fieldsOf, listOf, textOf, type Fields } from './shapes.ts';

/** What is kept of what an agent says: its last words. */
const WORDS = 8_000;
const NAME = 120;
/** Results that are remembered to tell news from the same again. */
const REMEMBERED = 512;
const OPEN_CALLS = 1_000;
/** Characters of what is known of all open calls; past that the oldest are forgotten. */
const KNOWN_OF_CALLS = 2_000_000;
/** No file system has longer ones. */
const LONGEST_PATH = 4_096;
const PATHS_OF_CALL = 200;
/** Words and thoughts are told so often at most. */
const TELL_MS = 200;

interface Call {
  readonly id: string;
  /** Its first title: later ones may be made for people. */
  announced: string;
  fields: Fields;
  /** Characters of `fields`. */
  size: number;
  told: boolean;
}

type Tell = (event: ExecutorEvent) => void;

/** Turns an agent's updates into events. It keeps as much as fits into a few thousand characters, however much comes. */
export class Listener {
  readonly #tell: Tell;
  readonly #words = new Tail(WORDS);
  /** What it has thought since the last thing it said or did: it comes in pieces, and is told as a whole. */
  readonly #thoughts = new Tail(WORDS);
  readonly #calls = new Map<string, Call>();
  readonly #results = new Set<string>();
  /** Where its files are; null: nobody knows. */
  readonly #root: string | null;
  /** Characters that `#calls` holds. */
  #known = 0;
  #speaking = false;
  #lastTold = 0;
  /** Calls of the turn that were told. */
  calls = 0;

  constructor(tell: Tell, root: string | null = null) {
    this.#tell = tell;
    this.#root = root;
  }

  /** What it said since the last call or the beginning of the turn. */
  get lastWords(): string {
    return this.#words.text;
  }

  turnBegins(): void {
    this.#words.clear();
    this.#thoughts.clear();
    this.#speaking = false;
    this.calls = 0;
    this.#forgetCalls();
  }

  turnEnds(): void {
    this.#flush();
    this.#forgetCalls();
  }

  /** One `session/update` of a turn. */
  hear(update: unknown): void {
    const fields = fieldsOf(update);
    switch (fields['sessionUpdate']) {
      case 'agent_message_chunk':
        return this.#says(textOf(at(fields, 'content', 'text')));
      case 'agent_thought_chunk':
        this.#thoughts.add(textOf(at(fields, 'content', 'text')));
        return this.#tell({ type: 'sign' });
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
    const known = this.#calls.get(textOf(fields['toolCallId']));
    return { ...known?.fields, ...present(fields), announced: known?.announced ?? '' };
  }

  /** The first word at once, then a few times a second: who listens wants to know what it says, not each syllable. */
  #says(text: string): void {
    if (text === '') return;
    this.#flushThoughts();
    if (!this.#speaking) this.#words.clear();
    this.#words.add(text);
    const now = performance.now();
    const due = !this.#speaking || now - this.#lastTold > TELL_MS;
    this.#speaking = true;
    if (!due) return;
    this.#lastTold = now;
    this.#tell({ type: 'output', text: this.#words.text });
  }

  #flushThoughts(): void {
    const { text } = this.#thoughts;
    this.#thoughts.clear();
    if (text !== '') this.#tell({ type: 'thought', text });
  }

  #flush(): void {
    this.#flushThoughts();
    if (this.#speaking) this.#tell({ type: 'output', text: this.#words.text });
    this.#speaking = false;
  }

  #calling(fields: Fields): void {
    const id = textOf(fields['toolCallId']);
    if (id === '' || id.length > NAME * 2) return;
    const call = this.#calls.get(id) ?? { id, announced: '', fields: {}, size: 0, told: false };
    call.fields = { ...call.fields, ...present(fields) };
    call.announced ||= textOf(fields['title']).slice(0, NAME * 4);
    this.#keep(call);
    const status = textOf(fields['status']);
    const ended = status === 'completed' || status === 'failed';
    // Some announce a call before they know its arguments: without them every call of a tool looks the same.
    const known = call.fields['rawInput'] !== undefined || (status !== '' && status !== 'pending');
    if (known || ended) this.#tellCall(call);
    if (!ended) return;
    this.#tellFiles(call);
    this.#tell({ type: 'tool_end', id, failed: status === 'failed', news: this.#isNews(call) });
    this.#forget(call);
  }

  #keep(call: Call): void {
    this.#forget(call);
    call.size = charsOf(call.fields);
    this.#known += call.size;
    this.#calls.set(call.id, call);
    for (const oldest of this.#calls.values()) {
      if (this.#calls.size <= OPEN_CALLS && this.#known <= KNOWN_OF_CALLS) return;
      this.#forget(oldest);
    }
  }

  #forget(call: Call): void {
    if (this.#calls.delete(call.id)) this.#known -= call.size;
  }

  #forgetCalls(): void {
    this.#calls.clear();
    this.#known = 0;
  }

  #tellCall(call: Call): void {
    if (call.told) return;
    call.told = true;
    this.calls++;
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
    if (fields['status'] === 'failed') return;
    const paths = [...new Set([...diffs, ...places])].filter((path) => this.#isOwn(path));
    for (const path of paths.slice(0, PATHS_OF_CALL)) this.#tell({ type: 'file_touched', path });
  }

  /** Whether it can be a file of its checkout: others are none of its work. */
  #isOwn(path: string): boolean {
    if (path === '' || path.length > LONGEST_PATH) return false;
    if (this.#root === null) return true;
    const beneath = relative(this.#root, resolve(this.#root, path));
    return beneath !== '..' && !beneath.startsWith(`..${sep}`) && !isAbsolute(beneath);
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
