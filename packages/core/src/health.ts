import type { WorkerHealth } from '@reveille/protocol';
import { CallPatterns } from './call-patterns.ts';
import type { ExecutorEvent, Usage } from './ports/executor.ts';
import type { Settings } from './settings.ts';

/** Files that are counted one by one; an agent may name any number. */
const MOST_FILES = 10_000;

export interface Alert {
  /** `changed`: the condition that was told before holds no longer. Only the record follows, nobody is told. */
  readonly what: 'stuck' | 'looping' | 'errors' | 'progress' | 'changed';
  readonly text: string;
}

/**
 * What is known of an agent's health, from what its executor reported and the monotonic clock. It never decides
 * that a task failed: an alert is told to the owner and shown (HLT2, HLT3). It lives in memory: after a restart
 * the agent begins anew, and so do its streaks.
 */
export class Vitals {
  lastSign: number;
  turnSince: number | null = null;
  restSince: number;
  /** A token or a call came in this turn after the hand-over. */
  alive = false;
  worked = false;
  lastWords = '';
  readonly patterns = new CallPatterns();
  #files: Set<string> | null = null;
  #tokens = 0;
  /** Named in the middle of the turn; the final report of the turn takes their place. */
  #interimTokens = 0;
  /** What it waits for permission to do. Whoever waits for others is not stuck. */
  #asking: Set<string> | null = null;
  /** The silence that was told and has not ended. */
  #silence: 'stuck' | 'silent' | null = null;
  /** What was last told. */
  #told: WorkerHealth['what'] | null = null;
  #executedBefore = 0;
  #progressTold = 0;

  constructor(mono: number) {
    this.lastSign = mono;
    this.restSince = mono;
  }

  turnOpened(mono: number): void {
    this.turnSince = mono;
    this.lastSign = mono;
    this.alive = false;
    this.worked = false;
    this.#silence = this.#told = null;
    this.#asking = null;
  }

  turnEnded(mono: number): void {
    if (this.turnSince !== null) this.#executedBefore += mono - this.turnSince;
    this.turnSince = null;
    this.restSince = mono;
    this.#silence = this.#told = null;
    this.patterns.turnEnded();
  }

  /** The agent waits in a call of ours: it cannot give a sign meanwhile. */
  waits(mono: number): void {
    this.lastSign = mono;
  }

  /** A call of ours arrived from the agent. */
  calledUs(mono: number): Alert[] {
    return this.#sign(mono);
  }

  /** The agent was asked why it is silent, and gave no sign of life in time. */
  asked(): void {
    this.#silence = this.#told = 'silent';
  }

  /** What is wrong with the agent now; null: nothing. */
  get condition(): Pick<WorkerHealth, 'what' | 'text'> | null {
    if (this.#silence === 'silent') return { what: 'silent', text: 'asked why it is silent' };
    if (this.#silence === null) return this.patterns.now;
    const { waitsFor } = this.patterns;
    return { what: 'stuck', text: waitsFor === null ? '' : `in a call of ${waitsFor}` };
  }

  /** Takes an event in and says what is worth telling. */
  hear(event: ExecutorEvent, mono: number, settings: Settings): Alert[] {
    switch (event.type) {
      case 'output':
        this.lastWords = event.text.slice(-2_000);
        return this.#sign(mono);
      case 'sign':
      case 'thought':
        return this.#sign(mono);
      case 'permission_asked':
        (this.#asking ??= new Set()).add(event.id);
        return this.#sign(mono);
      case 'permission_settled':
        this.#asking?.delete(event.id);
        return this.#moves(mono);
      case 'tool_call':
        this.worked = true;
        this.patterns.begins(event.id, event);
        return this.#sign(mono);
      case 'tool_end':
        return this.#tell([...this.#moves(mono), ...this.patterns.ends(event.id, event, settings.health)]);
      case 'file_touched':
        return this.#touched(event.path, mono);
      case 'usage':
        return this.#used(event);
      // These come from the program around the model, so they are no sign of life.
      case 'started':
      case 'turn_started':
      case 'turn_ended':
      case 'failed':
      case 'exited':
        return [];
      default:
        return event satisfies never;
    }
  }

  /** The answers to `patterns.fileCheck`. */
  filesMarked(commit: string | null, settings: Settings): Alert[] {
    return this.#tell(this.patterns.marked(commit, settings.health));
  }

  filesCompared(changed: boolean, settings: Settings): Alert[] {
    return this.#tell(this.patterns.compared(changed, settings.health));
  }

  /** What time alone brings: silence in an open turn, and every so often a report made from observation. */
  due(mono: number, settings: Settings): Alert[] {
    if (this.turnSince === null) return [];
    const alerts: Alert[] = [];
    const { stuckAfterMs, progressEveryMs } = settings.health;
    if (this.#asking && this.#asking.size > 0) this.lastSign = mono;
    if (this.#silence === null && mono - this.lastSign >= stuckAfterMs) {
      this.#silence = 'stuck';
      alerts.push(...this.#tell([{ what: 'stuck', text: this.#stuckWords(mono) }]));
    }
    const executed = this.#executedBefore + mono - this.turnSince;
    if (executed - this.#progressTold >= progressEveryMs) {
      this.#progressTold = executed;
      alerts.push({ what: 'progress', text: this.#observed(executed) });
    }
    return alerts;
  }

  /** A token or a call: the model is there. */
  #sign(mono: number): Alert[] {
    this.alive = true;
    return this.#moves(mono);
  }

  #moves(mono: number): Alert[] {
    this.lastSign = mono;
    this.#silence = null;
    return this.#tell([]);
  }

  #touched(path: string, mono: number): Alert[] {
    this.worked = true;
    if ((this.#files?.size ?? 0) < MOST_FILES) (this.#files ??= new Set()).add(path);
    this.patterns.moves();
    return this.#sign(mono);
  }

  #used({ kind, tokens }: Usage): Alert[] {
    if (kind === 'interim') this.#interimTokens += tokens;
    else this.#tokens += tokens;
    if (kind === 'final') this.#interimTokens = 0;
    return [];
  }

  /** Adds that the condition which was told before holds no longer, if that is so. */
  #tell(alerts: readonly Alert[]): Alert[] {
    const before = this.#told;
    this.#told = this.condition?.what ?? null;
    const isTold = before === this.#told || alerts.length > 0;
    return isTold ? [...alerts] : [{ what: 'changed', text: '' }];
  }

  #stuckWords(mono: number): string {
    const call = this.condition?.text ?? '';
    return `no sign of life for ${seconds(mono - this.lastSign)}${call && `, ${call}`}${this.#lastWords()}`;
  }

  #observed(executed: number): string {
    const tokens = this.#tokens + this.#interimTokens;
    return `at work for ${seconds(executed)}: ${this.patterns.calls} calls, ${this.#files?.size ?? 0} files touched, ${tokens} tokens${this.#lastWords()}`;
  }

  #lastWords(): string {
    return this.lastWords === '' ? '' : `; last words: ${this.lastWords.slice(-300)}`;
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
