import { setTimeout as sleep } from 'node:timers/promises';
import { isReveilleError, isScarce } from '@reveille/protocol';
import type { Agent, ExecutorEvent, Seen, StartSpec, TurnInput, Usage } from '@reveille/core';
import { restarted } from '../acp/restart-words.ts';
import { Failed, noRoom, overran, signalWords } from '../acp/failures.ts';
import { WAITS, type Waits } from '../acp/options.ts';
import { AgentProcess, type Launch } from '../acp/process.ts';
import type { Ledger } from '../acp/ledger.ts';
import { faultAtStart, faultOf, hangs, killedAtStart, type Fault } from './faults.ts';
import { Guard } from './guard.ts';
import { idsIn } from './history.ts';
import { Inbox } from './inbox.ts';
import { Meter, UNUSED } from './meter.ts';
import { CLAUDE, type ClaudeOptions } from './options.ts';
import type { ClaudeMessage, ClaudeQuery } from './sdk.ts';
import { asSpawned, type SpawnRequest } from './spawned.ts';
import { readToken, writeToken, type ResumeToken } from './token.ts';
import { claudeTools } from './tools.ts';
import { Translator } from './translate.ts';

/** Where the agent finds the token of its run. */
const TOKEN_VARIABLE = 'REVEILLE_RUN_TOKEN';

interface OpenTurn {
  readonly number: number;
  words: string;
  /** The error that its last message carried. */
  error: string | null;
  interrupted: boolean;
}

interface Offer {
  readonly text: string;
  readonly settle: (answer: 'taken' | 'refused') => void;
}

/** Of what it is told at a pause it is shown the beginning alone if it is longer than 10,000; a turn has all of it. */
const PAUSE_TAKES = 9_000;

/** One Claude Code session, through its SDK. */
export class ClaudeAgent implements Agent {
  readonly name: string;
  readonly #spec: StartSpec;
  readonly #options: ClaudeOptions;
  readonly #ledger: Ledger;
  readonly #inbox = new Inbox();
  readonly #abort = new AbortController();
  readonly #translator = new Translator();
  readonly #meter: Meter;
  readonly #resumed: ResumeToken | null;
  #session: string | null;
  #process: AgentProcess | null = null;
  #query: ClaudeQuery | null = null;
  #turn: OpenTurn | null = null;
  #offer: Offer | null = null;
  #stopping = false;
  /** Something was heard of it: it can be started. */
  #ready = false;
  #failed = false;
  #late: NodeJS.Timeout | undefined;
  #exiting: Promise<void> | null = null;
  #gone = false;
  #launch: Launch | null = null;
  #usages = 0;
  #isHandedTask = false;
  readonly #waits: Waits;
  readonly #over: Promise<void>;

  constructor(spec: StartSpec, options: ClaudeOptions, ledger: Ledger) {
    this.#spec = spec;
    this.#options = options;
    this.#ledger = ledger;
    this.name = `claude-${spec.run}-${spec.epoch}`;
    this.#resumed = readToken(spec.resume);
    this.#session = this.#resumed?.session ?? null;
    this.#meter = new Meter(this.#resumed ?? UNUSED, options.priceOf);
    this.#waits = { ...WAITS, ...options.waits };
    spec.report({ type: 'started', identity: this.name, resume: spec.resume });
    this.#over = this.#live();
  }

  turn(input: TurnInput): void {
    if (this.#stopping || this.#gone) return;
    this.#turn = { number: input.turn, words: '', error: null, interrupted: false };
    this.#say({ type: 'turn_started', turn: input.turn });
    // Whoever is handed its task again need not be told of it twice.
    if (input.given.includes(this.#spec.run)) this.#isHandedTask = true;
    if (this.#isHandedTask) this.#inbox.preface = '';
    this.#inbox.push(input.text);
    this.#expect();
  }

  /** It is kept here until the agent pauses: what the agent's own queue holds is lost with the agent. */
  steer(input: TurnInput): Promise<'taken' | 'refused'> {
    if (!this.#turn || this.#stopping || this.#offer) return Promise.resolve('refused');
    if (input.text.length > PAUSE_TAKES) return Promise.resolve('refused');
    return new Promise((resolve) => {
      this.#offer = { text: input.text, settle: resolve };
    });
  }

  withdraw(): void {
    this.#refuse();
  }

  interrupt(): void {
    const turn = this.#turn;
    if (!turn || turn.interrupted) return;
    turn.interrupted = true;
    // What it was not told yet it need not be stopped from.
    if (this.#inbox.withdraw()) return this.#endTurn(turn, '');
    this.#cut();
  }

  #cut(): void {
    this.#query?.interrupt().catch(() => undefined);
  }

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const session = this.#resumed?.session;
    const found =
      session === undefined ? null : await idsIn(this.#options.transcripts(this.#spec), session, ids);
    return new Map(ids.map((id) => [id, found === null ? 'unknown' : found.has(id) ? 'yes' : 'no']));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#refuse();
    // In its turn it would wait for its model whatever becomes of its input.
    if (this.#turn) this.#cut();
    this.#inbox.end();
    await this.#process?.end();
    this.#abort.abort();
    // A conversation that does not end although nobody is there to hold it is left behind.
    const late = new AbortController();
    const patience = sleep(this.#waits.lastMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.#over, patience]);
    late.abort();
    await this.#exit('it was stopped');
    await this.#process?.end();
  }

  async #live(): Promise<void> {
    let detail = 'its session ended';
    try {
      await this.#converse();
      // One that ends by itself owes an answer.
      if (this.#turn && !this.#gone) throw new Error('it ended in the middle of its turn');
    } catch (error) {
      // Its last words are read when it has ended.
      await this.#process?.end();
      const fault = this.#faultOf(error);
      detail = fault.message;
      this.#fail(fault);
    }
    await this.#exit(detail);
  }

  /** Nothing of it lives, and this is its last word. */
  #exit(detail: string): Promise<void> {
    return (this.#exiting ??= this.#leave(detail));
  }

  async #leave(detail: string): Promise<void> {
    this.#refuse();
    // Its process sees to it, if there was one.
    await (this.#process ? this.#process.end() : this.#launch?.dispose());
    this.#ledger.forget(this.name);
    this.#say({ type: 'exited', detail });
    this.#gone = true;
  }

  async #converse(): Promise<void> {
    const { sdk, install, launch: prepare } = this.#options;
    const loaded = await sdk();
    if (!loaded) return this.#fail({ class: 'invalid', message: `its SDK is not installed. ${install}` });
    const launch = (this.#launch = disposedOnce(await prepare(this.#spec)));
    const session = await this.#remembered();
    if (this.#stopping) return launch.dispose();
    const settings = this.#settings(launch, session);
    const query = (this.#query = loaded.query({ prompt: this.#inbox, options: settings }));
    this.#expect();
    try {
      for await (const message of query) this.#hear(message);
    } finally {
      clearTimeout(this.#late);
    }
  }

  /** Until it was told something it need not say anything. */
  #expect(): void {
    if (!this.#query || !this.#turn || this.#ready || this.#late) return;
    this.#late = setTimeout(() => this.#hangs(), this.#waits.initializeMs);
  }

  /** The session it goes on with; one that should have one and has not is told what it did. */
  async #remembered(): Promise<string | null> {
    const session = this.#resumed?.session ?? null;
    if (session !== null && (await idsIn(this.#options.transcripts(this.#spec), session, []))) return session;
    if (session === null && this.#spec.epoch === 1) return null;
    const memory = restarted(this.#spec, (await this.#options.digest?.(this.#spec)) ?? '');
    if (!this.#isHandedTask) this.#inbox.preface = memory;
    return null;
  }

  #start(launch: Launch, { args, env: wanted }: SpawnRequest): AgentProcess {
    const known = Object.entries(wanted).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const env = { ...Object.fromEntries(known), ...launch.env };
    const whole = { ...launch, argv: [...launch.argv, ...args], env };
    const held = new AgentProcess(this.name, whole, this.#options.graces);
    this.#process = held;
    // Whoever stopped it did so before there was a process to end.
    if (this.#stopping || this.#gone) void held.end();
    if (held.pid !== undefined) this.#ledger.record(this.name, held.pid, held.kept);
    return held;
  }

  #settings(launch: Launch, session: string | null): Record<string, unknown> {
    const role = this.#spec.role ?? null;
    const { url, token } = this.#options.tools(this.#spec);
    const say = (event: ExecutorEvent): void => this.#say(event);
    const guard = new Guard({ spec: this.#spec, options: this.#options, launch, say });
    // Its servers are named on its command line, which everybody on the machine can read: the token is not.
    const headers = { authorization: `Bearer \${${TOKEN_VARIABLE}}` };
    return {
      cwd: launch.workdir,
      env: { ...launch.env, [TOKEN_VARIABLE]: token },
      abortController: this.#abort,
      // Which program it is, and in which sandbox, is ours to say.
      pathToClaudeCodeExecutable: CLAUDE.name,
      spawnClaudeCodeProcess: (given: SpawnRequest) => asSpawned(this.#start(launch, given)),
      systemPrompt: { type: 'preset', preset: 'claude_code', append: role?.systemPrompt ?? '' },
      ...(role?.model ? { model: role.model } : {}),
      ...(session === null ? {} : { resume: session }),
      permissionMode: 'default',
      // Pieces of an answer are the only sign of life while the model writes a long one.
      includePartialMessages: true,
      // What the repository says to load is not loaded behind the person's back.
      settingSources: [],
      strictMcpConfig: true,
      ...claudeTools(role),
      mcpServers: { reveille: { type: 'http', url, headers, alwaysLoad: true } },
      canUseTool: guard.canUseTool,
      hooks: {
        PreToolUse: [{ hooks: [guard.before] }],
        PostToolUse: [{ hooks: [() => this.#pause('PostToolUse')] }],
        Stop: [{ hooks: [() => this.#pause('Stop')] }],
      },
    };
  }

  /** The agent is between two steps: what waits for it is given to it now. */
  async #pause(event: 'PostToolUse' | 'Stop'): Promise<Record<string, unknown>> {
    const offer = this.#offer;
    this.#offer = null;
    if (!offer) return {};
    // What it said before this has been heard when it counts as having the mail.
    setImmediate(() => offer.settle('taken'));
    // Of one that would stop this means that it goes on. A reason not to stop it would be told twice.
    return { hookSpecificOutput: { hookEventName: event, additionalContext: offer.text } };
  }

  #hear(message: ClaudeMessage): void {
    this.#ready = true;
    clearTimeout(this.#late);
    // An interrupt that came before the turn did was one of nothing.
    if (message.subtype === 'init' && this.#turn?.interrupted) this.#cut();
    if (message.type === 'system' && message.subtype === 'init' && message.session_id)
      return this.#opened(message.session_id);
    if (message.type === 'result') return this.#ended(message);
    if (message.subtype === 'api_retry' && message.error) return this.#retries(message, message.error);
    if (message.type === 'assistant' && message.error && this.#turn) this.#turn.error = message.error;
    if (message.type === 'assistant') this.#use(this.#meter.within(this.#usageId(), message));
    for (const event of this.#translator.events(message)) {
      if (event.type === 'output' && this.#turn) this.#turn.words = event.text;
      this.#say(event);
    }
  }

  /** It would try for minutes what no try can mend. */
  #retries(message: ClaudeMessage, named: string): void {
    if (typeof message.error_status === 'number') this.#say({ type: 'sign' });
    const fault = faultOf({ ...message, result: `the model refused: ${named}` }, named);
    if (fault.class === 'auth' || fault.class === 'invalid') this.#fail(fault);
  }

  #opened(session: string): void {
    if (this.#session === session) return;
    this.#session = session;
    this.#keep();
  }

  #usageId(): string {
    return `${this.name}/${this.#usages++}`;
  }

  /** A later life must not count it again. */
  #use(usage: Usage | null): void {
    if (!usage) return;
    this.#say(usage);
    this.#keep();
  }

  /** So that a later life can go on with it. */
  #keep(): void {
    if (this.#session === null) return;
    const resume = writeToken({ session: this.#session, ...this.#meter.state });
    this.#say({ type: 'started', identity: this.name, resume });
  }

  #ended(result: ClaudeMessage): void {
    const usage = this.#meter.read(this.#usageId(), result);
    this.#use(usage);
    const turn = this.#turn;
    // Words that it had queued itself make another turn of its own, which is still ours.
    if (!turn || (result.queued_turn_count ?? 0) > 0) return;
    if (!result.is_error || turn.interrupted) return this.#endTurn(turn, result.result ?? turn.words);
    this.#turn = null;
    this.#refuse();
    this.#fail(faultOf(result, turn.error));
  }

  #endTurn({ number, interrupted }: OpenTurn, lastWords: string): void {
    this.#turn = null;
    this.#refuse();
    this.#say({ type: 'turn_ended', turn: number, lastWords, interrupted });
  }

  /** It was started, and nothing came of it. */
  #hangs(): void {
    this.#late = undefined;
    if (this.#ready || this.#stopping || !this.#turn) return;
    this.#fail(hangs(this.#waits.initializeMs, this.#process?.errors.text ?? ''));
    this.#abort.abort();
  }

  #refuse(): void {
    this.#offer?.settle('refused');
    this.#offer = null;
  }

  #fail(fault: Fault): void {
    if (this.#stopping || this.#failed) return;
    this.#failed = true;
    this.#say({ type: 'failed', ...fault });
  }

  /** `exited` is the last word. */
  #say(event: ExecutorEvent): void {
    if (!this.#gone) this.#spec.report(event);
  }

  #faultOf(error: unknown): Fault {
    const words = this.#process?.errors.text.trim();
    const said = error instanceof Error ? error.message : String(error);
    const message = words && !said.includes(words) ? `${said}: ${words}` : said;
    const overrun = this.#process?.overrun ?? null;
    if (overrun !== null) return overran('Claude Code', overrun);
    if (error instanceof Failed) return error.failure;
    const unstarted = this.#process?.unstarted ?? null;
    if (isScarce(unstarted)) return noRoom('Claude Code', unstarted?.message ?? message);
    if (isReveilleError(error)) return { class: 'invalid', message };
    if (this.#ready) return { class: 'crash', message };
    const signal = this.#process?.killedBy ?? null;
    return signal === null ? faultAtStart(message) : killedAtStart(signalWords(signal), words ?? '');
  }
}

/** A process that is started late disposes of its launch again. */
function disposedOnce(launch: Launch): Launch {
  let disposing: Promise<void> | null = null;
  return { ...launch, dispose: () => (disposing ??= launch.dispose()) };
}
