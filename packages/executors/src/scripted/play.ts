import { OPERATIONS } from '@reveille/core';
import {
  ReveilleError,
  isReveilleError,
  type Delivery,
  type Orchestrator,
  type SpawnInput,
  type SpawnResult,
} from '@reveille/protocol';
import type { ScriptedAgent } from './agent.ts';
import { readLetters, type Letter } from './letters.ts';
import type { Script } from './life.ts';
import { withScript, type ParsedScript, type ParsedStep } from './written.ts';

/** Calls that one agent has under way. */
const AT_ONCE = 10;
const GO_ON = 'Go on as you think best.';
const DONE: ParsedStep = { do: 'report', status: 'success', output: 'Done.' };

/** A written script as a program. How far it got is in the agent's memory, so that a resumed one goes on from there. */
export function play(script: ParsedScript): Script {
  return async (agent) => {
    const { memory } = agent;
    const pulls = [...script.steps, ...(script.whenWoken ?? [])].some((step) => step.do === 'pull');
    const player = new Player(agent, pulls);
    const first = memory.at < script.steps.length;
    for (let step = script.steps[memory.at]; step; step = script.steps[memory.at]) {
      const ended = await player.take(step);
      memory.at = ended ? script.steps.length : memory.at + 1;
    }
    if (first && !player.reread) return;
    do {
      player.reread = false;
      const woken = script.onTurn?.[String(agent.turn.turn)] ?? script.whenWoken ?? player.byItself();
      for (const step of woken) if (await player.take(step)) break;
    } while (player.reread);
  };
}

/** One activation of a script: what it does, step by step, and the mail it still has to act on. */
class Player {
  /** A report was refused with ends it had not read: they are to be acted on as if they had woken it. */
  reread = false;
  readonly #agent: ScriptedAgent;
  /** How many letters of which turn it has looked at. */
  #read = 0;
  #turn = 0;
  #mail: Letter[] = [];

  /** It takes over what its children make, so every end of one is something to act on. */
  readonly #pulls: boolean;

  constructor(agent: ScriptedAgent, pulls: boolean) {
    this.#agent = agent;
    this.#pulls = pulls;
  }

  /** What it does when it is woken and nothing is written for that: it makes the report that was refused before. */
  byItself(): readonly ParsedStep[] {
    const refused = this.#agent.memory.notes['report'] as ParsedStep | undefined;
    const pull: ParsedStep[] = this.#pulls ? [{ do: 'pull' }] : [];
    return [{ do: 'answer', text: GO_ON }, ...pull, refused ?? DONE];
  }

  /** True: it was the last thing to do in this turn. */
  async take(step: ParsedStep): Promise<boolean> {
    const agent = this.#agent;
    if (step.attempt !== undefined && step.attempt !== agent.attempt) return false;
    switch (step.do) {
      case 'say':
        agent.say(step.text);
        return false;
      case 'work':
        await agent.work(step.ms);
        return false;
      case 'edit':
        await agent.edit(step.path, step.content);
        return false;
      case 'use':
        agent.use(step);
        return false;
      case 'notify':
        await agent.notify(step.type, step.text);
        return false;
      case 'ask':
        await agent.ask(step.text, step.options);
        return false;
      case 'rest':
        await agent.rest();
        return false;
      case 'fail':
        return agent.fail(step.class, step.message);
      case 'crash':
        return agent.crash(step.detail);
      case 'silent':
        return agent.silent();
      case 'ignoreAbort':
        agent.ignoreAbort();
        return false;
      default:
        return this.#act(step);
    }
  }

  /** The steps that deal with other tasks, and with the end of its own. */
  async #act(step: Exclude<ParsedStep, { do: Simple }>): Promise<boolean> {
    const agent = this.#agent;
    switch (step.do) {
      case 'call':
        await this.#call(step.operation, step.args);
        return false;
      case 'spawn':
        await agent.spawnMany(step.tasks.map((task, i) => this.#input(task, i)));
        return false;
      case 'storm':
        await this.#storm(step);
        return false;
      case 'delegate':
        await this.#delegate(step);
        return false;
      case 'wait':
        await this.#wait(step);
        return false;
      case 'check':
        this.#receive(await agent.checkUpdates());
        return false;
      case 'pull':
        await agent.pull();
        return false;
      case 'retry':
        await this.#retry(step);
        return false;
      case 'answer':
        await this.#answer(step.text);
        return false;
      case 'report':
        return this.#report(step);
      case 'reportTwice':
        await agent.reportTwice(step.status, step.output);
        return true;
      case 'reportLate':
        agent.reportLate(step.status, step.output, step.afterMs);
        return false;
      default:
        return step satisfies never;
    }
  }

  /** Keyed by the place in the script, so that one who begins anew finds the children it has. */
  #input(task: Child, i: number): SpawnInput {
    const { script, ...input } = task;
    const { memory, attempt } = this.#agent;
    const key = input.key ?? `script:${attempt}:${memory.at}:${i}`;
    return { ...input, key, prompt: script ? withScript(input.prompt, script) : input.prompt };
  }

  async #storm({ task, times }: Extract<ParsedStep, { do: 'storm' }>): Promise<void> {
    let refused = 0;
    for (let n = 0; n < times; n += AT_ONCE) {
      const inputs = Array.from({ length: Math.min(AT_ONCE, times - n) }, (_, i) => this.#input(task, n + i));
      const spawned = await Promise.allSettled(inputs.map((input) => this.#agent.spawn(input)));
      for (const one of spawned) {
        if (one.status === 'fulfilled') continue;
        if (!isReveilleError(one.reason, 'limit_reached')) throw one.reason;
        refused++;
      }
      // One that is not in this process would have to be heard first: nobody is served within one tick.
      await this.#agent.work(1);
    }
    await this.#agent.notify('info', `${times - refused} spawned, ${refused} refused`);
  }

  async #delegate(step: Extract<ParsedStep, { do: 'delegate' }>): Promise<void> {
    const options = step.patienceMs === undefined ? {} : { patienceMs: step.patienceMs };
    const result: SpawnResult = await this.#agent.delegate(this.#input(step.task, 0), options);
    if (result.state === 'ended' && result.delivery) this.#receive([result.delivery]);
    if (result.state !== 'needs_you') return;
    this.#receive(result.deliveries);
    await this.#answer(GO_ON);
    await this.#wait({ mode: 'all', timeoutMs: 300_000 });
  }

  async #wait(how: { mode: 'all' | 'any'; timeoutMs: number }): Promise<void> {
    for (;;) {
      const result = await this.#agent.wait({ mode: how.mode, timeoutMs: how.timeoutMs });
      this.#receive(result.deliveries);
      if (result.why !== 'needs_you') return;
      await this.#answer(GO_ON);
    }
  }

  async #retry({ max, say, afterMs }: Extract<ParsedStep, { do: 'retry' }>): Promise<void> {
    const { notes } = this.#agent.memory;
    const failed = this.#takeMail((letter) => letter.kind === 'end' && letter.status === 'failed');
    if (failed.length > 0 && say !== undefined) this.#agent.say(say);
    if (failed.length > 0) await this.#agent.work(afterMs);
    for (const { task } of failed) {
      const tried = Number(notes[`retried ${task}`] ?? 0);
      if (!task || tried >= max) continue;
      notes[`retried ${task}`] = tried + 1;
      await this.#agent.call('retryTask', task);
    }
  }

  async #answer(text: string): Promise<void> {
    const asked = this.#takeMail(({ kind }) => kind === 'question' || kind === 'approval_request');
    for (const { request } of asked) {
      if (request) await this.#agent.call('answer', { request, answer: text });
    }
  }

  /** Mail that came since it last looked, and wants something done, comes before the report. */
  async #report(step: Extract<ParsedStep, { do: 'report' }>): Promise<true> {
    const agent = this.#agent;
    agent.memory.notes['report'] = step;
    const unseen = this.#fetch();
    if (unseen.some((letter) => wantsAction(letter) || (this.#pulls && letter.kind === 'end'))) {
      this.reread = true;
      return true;
    }
    const { status, output, structured } = step;
    const result = await agent.report(status, output, structured === undefined ? {} : { structured });
    if (result.accepted) return true;
    if (result.code === 'unread_ends') {
      this.#receive(result.deliveries);
      this.reread = true;
    }
    if (result.code === 'invalid_result') agent.say(result.problems.join('\n'));
    return true;
  }

  async #call(operation: string, args: readonly unknown[]): Promise<void> {
    if (!OPERATIONS.has(operation)) {
      throw new ReveilleError('invalid_input', `There is no operation "${operation}".`);
    }
    // The operations check their input themselves, as they do for any other caller.
    await this.#agent.call(operation as 'getTask', ...(args as Parameters<Orchestrator['getTask']>));
  }

  #receive(deliveries: readonly Delivery[]): void {
    this.#mail.push(...deliveries.flatMap(({ text }) => readLetters(text)));
  }

  /** What is left to act on: the mail of the turn, and what calls were answered with. */
  #takeMail(wanted: (letter: Letter) => boolean): Letter[] {
    this.#fetch();
    const taken = this.#mail.filter(wanted);
    this.#mail = this.#mail.filter((letter) => !wanted(letter));
    return taken;
  }

  #fetch(): Letter[] {
    const { turn } = this.#agent.turn;
    if (turn !== this.#turn) this.#read = 0;
    this.#turn = turn;
    const unseen = this.#agent.letters.slice(this.#read);
    this.#read += unseen.length;
    this.#mail.push(...unseen);
    return unseen;
  }
}

const wantsAction = ({ kind, status }: Letter): boolean =>
  kind === 'question' || kind === 'approval_request' || (kind === 'end' && status === 'failed');

type Simple =
  | 'say'
  | 'work'
  | 'edit'
  | 'use'
  | 'notify'
  | 'ask'
  | 'rest'
  | 'fail'
  | 'crash'
  | 'silent'
  | 'ignoreAbort';
type Child = Extract<ParsedStep, { do: 'delegate' }>['task'];
