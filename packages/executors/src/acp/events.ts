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

interface ListenerOptions {
  /** Where its files are; null: nobody knows. */
  readonly root?: string | null;
  readonly namesWords?: boolean;
}

type Tell = (event: ExecutorEvent) => void;

/** Turns an agent's updates into events. It keeps as much as fits into a few thousand characters, however much comes. */
export class Listener {
  readonly #tell: Tell;
  readonly #words = new Tail(WORDS);
  /** What it has thought since the last thing it said or did: it comes in pieces, and is told as a whole. */
  readonly #thoughts = new Tail(WORDS);
  /** What its program said by itself: no sign of life of its model (HLT1). */
  readonly #notices = new Tail(WORDS);
  readonly #namesWords: boolean;
  readonly #calls = new Map<string, Call>();
  readonly #results = new Set<string>();
  /** Where its files are; null: nobody knows. */
  readonly #root: string | null;
  /** Characters that `#calls` holds. */
  #known = 0;
  #speaking = false;
  #lastTold = 0;
  /** Digest of the last plan. */
  #plan = '';
  /** Calls of the turn that were told. */
  calls = 0;

  constructor(tell: Tell, { root = null, namesWords = false }: ListenerOptions = {}) {
    this.#tell = tell;
    this.#root = root;
    this.#namesWords = namesWords;
  }

  /** What it said since the last call or the beginning of the turn; if its model said nothing, what its program did. */
  get lastWords(): string {
    return this.#words.text || this.#notices.text;
  }

  turnBegins(): void {
    for (const tail of [this.#words, this.#thoughts, this.#notices]) tail.clear();
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
        return this.#says(textOf(at(fields, 'content', 'text')), textOf(fields['messageId']));
      case 'agent_thought_chunk':
        return this.#thinks(textOf(at(fields, 'content', 'text')));
      case 'tool_call':
      case 'tool_call_update':
        return this.#calling({ ...fields, sessionUpdate: undefined });
      case 'plan':
        return this.#plans(fields['entries']);
      default:
        // Modes, commands, titles, usage: an agent sends these by itself, so they do not show that its model has heard us.
        return undefined;
    }
  }

  /** What is known of a call, also from earlier words about it: a request for permission may say very little. */
  callOf(toolCall: unknown): Fields {
    const fields = fieldsOf(toolCall);
    const known = this.#calls.get(textOf(fields['toolCallId']));
    return { ...known?.fields, ...present(fields), announced: known?.announced ?? '' };
  }

  #thinks(text: string): void {
    if (text === '') return;
    this.#thoughts.add(text);
    this.#tell({ type: 'sign' });
  }

  /** Only a plan that differs from the last one comes from the model: an agent may send the same one again by itself. */
  #plans(entries: unknown): void {
    const plan = listOf(entries).length > 0 ? digestOf([entries]) : '';
    if (plan === '' || plan === this.#plan) return;
    this.#plan = plan;
    this.#tell({ type: 'thought', text: '' });
  }

  /** The first word at once, then a few times a second: who listens wants to know what it says, not each syllable. */
  #says(text: string, message: string): void {
    if (text === '') return;
    if (this.#namesWords && message === '') return this.#notices.add(text);
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
    const { size } = call;
    call.fields = { ...call.fields, ...present(fields) };
    call.announced ||= textOf(fields['title']).slice(0, NAME * 4);
    this.#keep(call);
    const status = textOf(fields['status']);
    const ended = status === 'completed' || status === 'failed';
    const known = hasInput(call) || (status !== '' && status !== 'pending');
    if (!call.told && (known || ended)) this.#tellCall(call);
    // An update that says nothing new may be a heartbeat of the agent itself.
    else if (call.size > size) this.#tell({ type: 'sign' });
    if (!ended) return;
    this.#tellFiles(call);
    // OpenCode announces a call as in progress before it says the arguments: only now are all of them known.
    const digest = digestOfCall(call);
    this.#tell({ type: 'tool_end', id, failed: status === 'failed', news: this.#isNews(call), digest });
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
    call.told = true;
    this.calls++;
    this.#flush();
    const { title, name, kind } = call.fields;
    const said = textOf(name) || textOf(title) || textOf(kind) || 'a tool';
    const digest = digestOfCall(call);
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

/** An empty object is a place for arguments that are still to come. */
const hasInput = ({ fields: { rawInput } }: Call): boolean =>
  typeof rawInput === 'object' ? Object.keys(fieldsOf(rawInput)).length > 0 : textOf(rawInput) !== '';

/** What tells a call from others of the same tool: its arguments or, if the agent does not say them, its title and what it would change. */
function digestOfCall(call: Call): string {
  const { title, kind, rawInput, locations, content } = call.fields;
  if (hasInput(call)) return digestOf([call.announced, textOf(kind), rawInput]);
  const diffs = listOf(content).filter((part) => at(part, 'type') === 'diff');
  return digestOf([textOf(title), textOf(kind), locations, diffs]);
}

/** Fields that say something: an update names only what it changes, some with null for the rest. */
const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

const digestOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(brief(parts, 1_000_000)).digest('hex').slice(0, 24);
