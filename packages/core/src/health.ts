import type { ExecutorEvent, Usage } from './ports/executor.ts';
import type { Settings } from './settings.ts';

/** Files that are counted one by one; an agent may name any number. */
const MOST_FILES = 10_000;
const MOST_SPAWNS = 10_000;

export interface Alert {
  readonly what: 'stuck' | 'looping' | 'errors' | 'progress';
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
  /** Anything heard in this turn after the hand-over. */
  alive = false;
  worked = false;
  lastWords = '';
  #calls = 0;
  #files: Set<string> | null = null;
  #tokens = 0;
  /** Named in the middle of the turn; the final report of the turn takes their place. */
  #interimTokens = 0;
  #lastDigest = '';
  #sameCalls = 0;
  #fruitless = 0;
  #errors = 0;
  #spawns: Map<string, number> | null = null;
  /** What it waits for permission to do. Whoever waits for others is not stuck. */
  #asking: Set<string> | null = null;
  #stuckTold = false;
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
    this.#stuckTold = false;
    this.#asking = null;
  }

  turnEnded(mono: number): void {
    if (this.turnSince !== null) this.#executedBefore += mono - this.turnSince;
    this.turnSince = null;
    this.restSince = mono;
  }

  /** Takes an event in and says what is worth telling. */
  hear(event: ExecutorEvent, mono: number, settings: Settings): Alert[] {
    this.lastSign = mono;
    this.#stuckTold = false;
    switch (event.type) {
      case 'output':
        this.alive = true;
        this.lastWords = event.text.slice(-2_000);
        return [];
      case 'sign':
      case 'thought':
        this.alive = true;
        return [];
      case 'permission_asked':
        (this.#asking ??= new Set()).add(event.id);
        return [];
      case 'permission_settled':
        this.#asking?.delete(event.id);
        return [];
      case 'tool_call':
        this.alive = true;
        this.worked = true;
        return this.#called(event.name, event.digest, settings);
      case 'tool_end':
        return this.#ended(event.failed, event.news, settings);
      case 'file_touched':
        this.worked = true;
        if ((this.#files?.size ?? 0) < MOST_FILES) (this.#files ??= new Set()).add(event.path);
        this.#fruitless = 0;
        return [];
      case 'usage':
        return this.#used(event);
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

  #used({ kind, tokens }: Usage): Alert[] {
    if (kind === 'interim') this.#interimTokens += tokens;
    else this.#tokens += tokens;
    if (kind === 'final') this.#interimTokens = 0;
    return [];
  }

  #called(name: string, digest: string, settings: Settings): Alert[] {
    const { sameCalls, fruitlessCalls } = settings.health;
    this.#calls++;
    this.#sameCalls = digest === this.#lastDigest ? this.#sameCalls + 1 : 1;
    this.#lastDigest = digest;
    this.#fruitless++;
    if (this.#sameCalls === sameCalls) {
      return [
        { what: 'looping', text: `called ${name} with the same arguments ${sameCalls} times in a row` },
      ];
    }
    if (this.#fruitless === fruitlessCalls) {
      return [
        { what: 'looping', text: `made ${fruitlessCalls} calls without any change or new information` },
      ];
    }
    return name.includes('spawn') ? this.#spawned(digest) : [];
  }

  #spawned(digest: string): Alert[] {
    const spawns = (this.#spawns ??= new Map<string, number>());
    const count = (spawns.get(digest) ?? 0) + 1;
    if (spawns.size < MOST_SPAWNS) spawns.set(digest, count);
    return count === 3
      ? [{ what: 'looping', text: 'spawned the same subtask again after each end, 3 times' }]
      : [];
  }

  #ended(failed: boolean, news: boolean, settings: Settings): Alert[] {
    if (news) this.#fruitless = 0;
    this.#errors = failed ? this.#errors + 1 : 0;
    if (this.#errors !== settings.health.errorStreak) return [];
    return [{ what: 'errors', text: `${this.#errors} errors in a row` }];
  }

  /** What time alone brings: silence in an open turn, and every so often a report made from observation. */
  due(mono: number, settings: Settings): Alert[] {
    if (this.turnSince === null) return [];
    const alerts: Alert[] = [];
    const { stuckAfterMs, progressEveryMs } = settings.health;
    if (this.#asking && this.#asking.size > 0) this.lastSign = mono;
    if (!this.#stuckTold && mono - this.lastSign >= stuckAfterMs) {
      this.#stuckTold = true;
      alerts.push({
        what: 'stuck',
        text: `no sign of life for ${Math.round((mono - this.lastSign) / 1000)} s`,
      });
    }
    const executed = this.#executedBefore + mono - this.turnSince;
    if (executed - this.#progressTold >= progressEveryMs) {
      this.#progressTold = executed;
      alerts.push({ what: 'progress', text: this.#observed(executed) });
    }
    return alerts;
  }

  #observed(executed: number): string {
    const words = this.lastWords ? `; last words: ${this.lastWords.slice(-300)}` : '';
    return `at work for ${Math.round(executed / 1000)} s: ${this.#calls} calls, ${this.#files?.size ?? 0} files touched, ${this.#tokens + this.#interimTokens} tokens${words}`;
  }
}
