import { createHash, randomBytes } from 'node:crypto';
import type { Answer, Called, Conversation, Heard, Offered } from './conversation.ts';
import { afterScript, scriptIn, type Failure, type ParsedScript, type ParsedStep } from './script.ts';

export type Played =
  | {
      readonly kind: 'answer';
      readonly answer: Answer;
      readonly hold: string | null;
      readonly waitMs: number;
      readonly chunkMs: number;
      /** The connection breaks in the middle of it. */
      readonly breaks: boolean;
      /** No script decided it: a title, a summary, a conversation without a script. */
      readonly side: boolean;
    }
  | {
      readonly kind: 'failure';
      readonly failure: Exclude<Failure, 'refusal' | 'broken_stream'>;
      readonly retryAfterS: number | null;
      readonly waitMs: number;
    };

/** A section of a script: `steps`, or one of `onMail`. */
interface Cursor {
  /** null: the main one. */
  readonly section: number | null;
  at: number;
  /** How often the step at `at` has been played. */
  done: number;
}

const MARK = /call_(?:m|w(\d{1,4})-)(\d{1,5})x(\d{1,9})_/;

/**
 * Finds out from the conversation alone which step is due: the script is walked along with what was said since it came.
 * A call's id carries the number of its step and how often that had been played, so the place is found also after the
 * beginning was forgotten. The one
 * thing to remember is how often a step has failed, since a failure leaves no trace in a conversation.
 */
export class Player {
  readonly #failed = new Map<string, number>();

  play(conversation: Conversation): Played {
    const { messages, tools, wantsJson } = conversation;
    const from = messages.findLastIndex(({ role, text }) => role === 'user' && scriptIn(text) !== undefined);
    const script = from < 0 ? undefined : scriptIn(messages[from]?.text ?? '');
    if (typeof script === 'string') return plain(script, conversation);
    if (tools.length === 0 && !script?.toolless) return plain(sideWords(wantsJson), conversation);
    if (!script) return plain('There is no script in this conversation.', conversation);
    // One that begins anew is told its task and what came since in one message.
    const beside: Heard = { role: 'user', text: afterScript(messages[from]?.text ?? ''), calls: [] };
    const since = [beside, ...messages.slice(from + 1)];
    const walk = new Walk(script);
    for (const message of since) walk.hear(message);
    const key = createHash('sha256')
      .update(messages[from]?.text ?? '')
      .digest('hex');
    const step = walk.due((at) => this.#tried(`${key} ${at}`));
    if (!step) return answered(DONE, { conversation, script, since, mark: 'end' });
    const { fail } = step.step;
    if (fail === undefined || fail === 'refusal' || fail === 'broken_stream')
      return answered(step.step, { conversation, script, since, mark: step.mark });
    const { waitMs, retryAfterS = null } = step.step;
    return { kind: 'failure', failure: fail, retryAfterS, waitMs };
  }

  /** How often this step was tried before; counts this time. */
  #tried(key: string): number {
    const before = this.#failed.get(key) ?? 0;
    this.#failed.delete(key);
    this.#failed.set(key, before + 1);
    for (const oldest of this.#failed.keys()) {
      if (this.#failed.size <= 10_000) break;
      this.#failed.delete(oldest);
    }
    return before;
  }
}

const REFUSES = 'I cannot help with that.';
const DONE = { say: 'Done.' } as const;

/** How often a step is played that leaves no trace; null: it leaves one. */
function fleeting(step: ParsedStep): number | null {
  if (step.fail !== undefined) return step.times ?? Infinity;
  return step.empty ? (step.times ?? 1) : null;
}

/** Follows a conversation through a script. */
class Walk {
  readonly #script: ParsedScript;
  readonly #main: Cursor = { section: null, at: 0, done: 0 };
  #now: Cursor = this.#main;
  #heard = '';
  /** What came since the last answer, if that ended the turn. */
  #news: string | null = null;
  #turnOver = false;

  constructor(script: ParsedScript) {
    this.#script = script;
  }

  hear({ role, text, calls }: Heard): void {
    if (role !== 'assistant') {
      this.#heard += `\n${text}`;
      if (role === 'user' && this.#turnOver && text.trim() !== '')
        this.#news = `${this.#news ?? ''}\n${text}`;
      return;
    }
    // An empty answer leaves no trace in most conversations; where it does, it is no step.
    if (calls.length === 0 && (text.trim() === '' || this.#isRefusal(text))) return;
    this.#settle();
    const mark = calls.map(({ id }) => MARK.exec(id)).find((found) => found !== null);
    if (mark)
      this.#goTo({
        section: mark[1] === undefined ? null : Number(mark[1]),
        at: Number(mark[2]),
        done: Number(mark[3]),
      });
    const step = this.#skip(() => true);
    this.#turnOver = calls.length === 0;
    if (!step || this.#isForeign(step, calls)) return;
    this.#now.done++;
    const times = step.repeat ?? (step.until === undefined ? 1 : 'forever');
    if (times !== 'forever' && this.#now.done >= times) this.#next();
  }

  /** A refusal is told by how often it was tried; some clients keep its words in the conversation, others do not. */
  #isRefusal(text: string): boolean {
    return this.#steps.some(({ fail, say = REFUSES }) => fail === 'refusal' && say.trim() === text.trim());
  }

  /** Words that an agent put into the model's mouth, as some do when they take a session up again. */
  #isForeign(step: ParsedStep, calls: Heard['calls']): boolean {
    const wants = step.call !== undefined || step.calls.length > 0;
    return wants && calls.length === 0 && !step.cut && !this.#script.ignoreTools;
  }

  /** The step to play now; `tried` says how often one that leaves no trace was tried before. */
  due(tried: (at: string) => number): { step: ParsedStep; mark: string } | null {
    this.#settle();
    const step = this.#skip((fleets, at) => tried(at) >= fleets);
    return step ? { step, mark: `${this.#place}x${this.#now.done}` } : null;
  }

  get #place(): string {
    const { section, at } = this.#now;
    return section === null ? `m${at}` : `w${section}-${at}`;
  }

  get #steps(): readonly ParsedStep[] {
    const { section } = this.#now;
    return section === null ? this.#script.steps : (this.#script.onMail[section]?.steps ?? []);
  }

  #next(): void {
    this.#now.at++;
    this.#now.done = 0;
  }

  #goTo(place: Cursor): void {
    this.#now = place.section === null ? Object.assign(this.#main, place) : place;
  }

  /** New words after the end of a turn choose the section that is played for them. */
  #settle(): void {
    const news = this.#news;
    this.#news = null;
    if (news === null) return;
    const section = this.#script.onMail.findIndex(({ when }) => news.includes(when));
    this.#now = section < 0 ? this.#main : { section, at: 0, done: 0 };
  }

  /** Goes past steps that are over: those whose word has come, and those without a trace, if `over` says so. */
  #skip(over: (times: number, at: string) => boolean): ParsedStep | undefined {
    for (;;) {
      const step = this.#steps[this.#now.at];
      if (!step) return undefined;
      const times = fleeting(step);
      const past = step.until !== undefined && this.#heard.includes(step.until);
      if (!past && (times === null || !over(times, this.#place))) return step;
      this.#next();
    }
  }
}

interface Scene {
  readonly conversation: Conversation;
  readonly script: Pick<ParsedScript, 'ignoreTools'>;
  readonly since: readonly Heard[];
  readonly mark: string;
}

function answered(step: Partial<ParsedStep>, scene: Scene): Extract<Played, { kind: 'answer' }> {
  const { conversation, script, since, mark } = scene;
  const fill = <T>(value: T): T => filled(value, since);
  const refuses = step.fail === 'refusal';
  const named = [
    ...(step.call === undefined ? [] : [{ call: step.call, input: step.input ?? {} }]),
    ...(step.calls ?? []),
  ];
  const wanted = step.empty || refuses ? [] : named;
  const said = step.empty ? '' : fill(step.say ?? (refuses ? REFUSES : ''));
  const would = script.ignoreTools
    ? wanted.map(({ call, input }) => `\nI would call ${call} with ${JSON.stringify(input)}.`).join('')
    : '';
  const calls = script.ignoreTools
    ? []
    : wanted.map(({ call, input }): Called => ({
        id: `call_${mark}_${randomBytes(8).toString('hex')}`,
        tool: toolNamed(call, conversation.tools),
        input: fill(input),
        json: sent(JSON.stringify(fill(input)), step.cut ?? false),
      }));
  const end = refuses ? 'refusal' : step.cut ? 'cut' : calls.length > 0 ? 'calls' : 'done';
  const answer = { think: fill(step.think ?? ''), say: said + would, calls, end } as const;
  return {
    kind: 'answer',
    answer: { ...answer, usage: usageOf(conversation, answer, step.usage) },
    hold: step.hold ?? null,
    waitMs: step.waitMs ?? 0,
    chunkMs: step.chunkMs ?? 0,
    breaks: step.fail === 'broken_stream',
    side: false,
  };
}

const sent = (json: string, cut: boolean): string => (cut ? json.slice(0, Math.ceil(json.length / 2)) : json);

function plain(say: string, conversation: Conversation): Played {
  const scene = { conversation, script: { ignoreTools: false }, since: [], mark: 'side' };
  return { ...answered({ say }, scene), side: true };
}

/** What titles, summaries, routers and guards can live with. */
function sideWords(wantsJson: boolean): string {
  if (!wantsJson) return 'A scripted conversation';
  return JSON.stringify({
    title: 'A scripted conversation',
    isNewTopic: false,
    reasoning: 'scripted',
    model_choice: 'flash',
    complexity_reasoning: 'scripted',
    complexity_score: 10,
    outcome: 'allow',
    risk_level: 'low',
    rationale: 'scripted',
  });
}

function usageOf(
  { messages }: Conversation,
  answer: Omit<Answer, 'usage'>,
  usage: ParsedStep['usage'] = {},
): Answer['usage'] {
  const sent = messages.reduce((sum, { text }) => sum + text.length, 0);
  const given = answer.think.length + answer.say.length + JSON.stringify(answer.calls).length;
  return {
    input: usage.input ?? Math.ceil(sent / 4),
    output: usage.output ?? Math.ceil(given / 4),
    cached: usage.cached ?? 0,
  };
}

/** By its name, else by the end of it after anything that is no letter, else by its end. */
function toolNamed(name: string, tools: readonly Offered[]): Offered {
  const wanted = name.toLowerCase();
  const tests: ((offered: string) => boolean)[] = [
    (offered) => offered === wanted,
    (offered) => offered.endsWith(wanted) && !/[a-z0-9]$/.test(offered.slice(0, -wanted.length)),
    (offered) => offered.endsWith(wanted),
  ];
  for (const test of tests) {
    const found = tools.find((tool) => test(tool.name.toLowerCase()));
    if (found) return found;
  }
  return { name };
}

/** `${result}` is the last result, `${heard}` all that came since the script, `${/…/}` the last that matches in it. */
function filled<T>(value: T, since: readonly Heard[]): T {
  if (typeof value === 'string') return fillText(value, since) as T;
  if (Array.isArray(value)) return value.map((entry: unknown) => filled(entry, since)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, entry]) => [key, filled(entry as unknown, since)]);
  return Object.fromEntries(entries) as T;
}

const MOST_SHOWN = 4_000;

function fillText(text: string, since: readonly Heard[]): string {
  if (!text.includes('${')) return text;
  const came = since.filter(({ role }) => role !== 'assistant');
  const heard = came.map((message) => message.text).join('\n');
  return text.replaceAll(/\$\{(result|heard|\/(?:\\\/|[^/])+\/)\}/g, (_, what: string) => {
    if (what === 'result')
      return (came.findLast(({ role }) => role === 'tool')?.text ?? '').slice(0, MOST_SHOWN);
    if (what === 'heard') return heard.slice(-MOST_SHOWN);
    const match = [...heard.matchAll(new RegExp(what.slice(1, -1), 'g'))].at(-1);
    return match?.[1] ?? match?.[0] ?? '';
  });
}
