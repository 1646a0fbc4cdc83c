import type { StartSpec } from '@reveille/core';
import { RequestError, type RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { BRIDGE } from './bridge.ts';
import { ClientDoors } from './doors.ts';
import { Failed, exitFailure, hangs, overran, requestFailed, tooOld, type Failure } from './failures.ts';
import { History } from './history.ts';
import { Link, type Announced, type ToolServer } from './link.ts';
import { WAITS, type AcpOptions, type Waits } from './options.ts';
import { SERVER } from './presets.ts';
import { AgentProcess, type Exit, type Launch } from './process.ts';

/** What a life needs of the agent it is of. */
export interface Owner {
  readonly spec: StartSpec;
  readonly name: string;
  readonly update: (update: unknown) => void;
  readonly permission: (toolCall: unknown, options: unknown) => Promise<RequestPermissionResponse>;
  readonly touched: (path: string) => void;
  readonly takeApproval: (path: string, content: string) => boolean;
}

const GARBAGE_TOLD = 20;

/**
 * One process of an agent, from its start to its end, and the session it has there. An agent may have several lives in
 * a row: one that does not heed a cancel is ended, and its session is taken up again by the next.
 */
export class Life {
  readonly process: AgentProcess;
  readonly confined: boolean;
  readonly #cwd: string;
  readonly #owner: Owner;
  readonly #options: AcpOptions;
  readonly #link: Link;
  readonly #doors: ClientDoors;
  readonly #waits: Waits;
  readonly #history = new History();
  #announced: Announced | null = null;
  #session = '';
  #loading = false;
  #garbage = 0;
  /** The session is one that an earlier life began, with all it was told. */
  resumed = false;
  ready = false;

  constructor(owner: Owner, options: AcpOptions, launch: Launch) {
    this.#owner = owner;
    this.#options = options;
    this.#waits = { ...WAITS, ...options.waits };
    this.confined = launch.confined;
    this.#cwd = launch.workdir;
    this.process = new AgentProcess(owner.name, launch, options.graces);
    this.#doors = new ClientDoors(options.hands(owner.spec), owner);
    const garbage = (beginning: string): void => this.#tellGarbage(beginning);
    const update = (session: string, said: unknown): void => this.#hear(session, said);
    const ears = { update, permission: owner.permission, garbage };
    this.#link = new Link(this.process, ears, this.#doors);
  }

  get session(): string {
    return this.#session;
  }

  get steers(): boolean {
    return this.#announced?.steers ?? false;
  }

  /** What a later life can take the session up by; null: it cannot. */
  get token(): string | null {
    const { loads = false, resumes = false } = this.#announced ?? {};
    return this.#options.preset.quirks.resumes && (loads || resumes) ? this.#session : null;
  }

  get history(): History {
    return this.#history;
  }

  /** Speaks with it until it can be given a turn. Throws `Failed`. */
  async begin(resume: string | null): Promise<void> {
    const { preset, version } = this.#options;
    const { initializeMs } = this.#waits;
    const announced = await this.#within(initializeMs, 'to its first message', () =>
      this.#link.initialize(version),
    );
    this.#announced = announced;
    if (announced.protocol !== 1)
      throw new Failed(tooOld(preset, announced.version ? `${announced.version} ` : ''));
    await this.#logIn(announced);
    const { sessionMs } = this.#waits;
    const cwd = this.#cwd;
    const mcpServers = [this.#toolServer(announced)];
    this.resumed = resume !== null && (await this.#reopen(announced, resume, mcpServers));
    if (!this.resumed)
      this.#session = await this.#within(sessionMs, 'to the wish for a session', () =>
        this.#link.open(cwd, mcpServers),
      );
    this.ready = true;
  }

  prompt(text: string): Promise<unknown> {
    return this.#link.prompt(this.#session, text);
  }

  steer(text: string): Promise<boolean> {
    return this.#link.steer(this.#session, text);
  }

  cancel(): void {
    this.#link.cancel(this.#session);
  }

  /** Resolves when nothing of it lives. */
  async end(): Promise<void> {
    await Promise.all([this.process.end(), this.#doors.close()]);
    this.#link.close();
  }

  /** What an error of one of our requests means; one that came because the process died means that. */
  async failureOf(doing: string, error: unknown): Promise<Failure> {
    if (error instanceof Failed) return error.failure;
    const { preset } = this.#options;
    if (error instanceof RequestError) return requestFailed(preset, doing, error);
    // The connection is gone: so is the process, or it will be.
    await this.process.end();
    return this.exitFailure(await this.process.exited);
  }

  exitFailure(exit: Exit): Failure {
    const { overrun } = this.process;
    if (overrun !== null) return overran(this.#options.preset.title, overrun);
    return exitFailure(this.#options.preset, exit, this.process.errors.text, this.ready);
  }

  async #logIn(announced: Announced): Promise<void> {
    const { logins } = this.#options.preset;
    const way = logins.find(
      ({ method, needs }) => announced.logins.includes(method) && this.#options.has(needs),
    );
    if (!way) return;
    const { sessionMs } = this.#waits;
    await this.#within(sessionMs, 'while it was logging in', () => this.#link.authenticate(way.method));
  }

  /** False: it begins anew. That is no failure, only told. */
  async #reopen(announced: Announced, id: string, mcpServers: readonly ToolServer[]): Promise<boolean> {
    const { preset, log } = this.#options;
    const way = announced.loads ? 'load' : announced.resumes ? 'resume' : null;
    if (way === null || !preset.quirks.resumes) return false;
    this.#session = id;
    this.#loading = true;
    try {
      await this.#within(this.#waits.sessionMs, 'to the wish to go on with its session', () =>
        this.#link.reopen(way, { id, cwd: this.#cwd, mcpServers }),
      );
      if (way === 'load') this.#history.complete();
      return true;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      if (error.failure.class === 'crash' || error.failure.class === 'unresponsive') throw error;
      log('an agent could not go on with its session and begins anew', {
        backend: preset.name,
        run: this.#owner.spec.run,
        why: error.message,
      });
      return false;
    } finally {
      this.#loading = false;
    }
  }

  #toolServer(announced: Announced): ToolServer {
    const { url, token } = this.#options.tools(this.#owner.spec);
    const name = SERVER;
    if (announced.httpMcp && this.#options.preset.quirks.mcp === 'http')
      return { type: 'http', name, url, headers: [{ name: 'Authorization', value: `Bearer ${token}` }] };
    const env = Object.entries({ REVEILLE_MCP_URL: url, REVEILLE_MCP_TOKEN: token });
    return {
      name,
      command: process.execPath,
      args: ['-e', BRIDGE],
      env: env.map(([key, value]) => ({ name: key, value })),
    };
  }

  /** Its answer, unless it takes too long, is an error, or it dies before. */
  async #within<T>(ms: number, what: string, ask: () => Promise<T>): Promise<T> {
    const { preset } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Failed(hangs(preset, what, ms, this.process.errors.text))), ms);
    });
    const gone = this.process.exited.then(async (exit): Promise<never> => {
      await this.process.end();
      throw new Failed(this.exitFailure(exit));
    });
    gone.catch(() => undefined);
    try {
      return await Promise.race([ask(), late, gone]);
    } catch (error) {
      throw new Failed(await this.failureOf('while it was being started', error));
    } finally {
      clearTimeout(timer);
    }
  }

  #hear(session: string, update: unknown): void {
    if (session !== this.#session) return;
    if (this.#loading) this.#history.hear(update);
    else this.#owner.update(update);
  }

  #tellGarbage(beginning: string): void {
    if (++this.#garbage > GARBAGE_TOLD) return;
    const { preset, log } = this.#options;
    log('an agent wrote something to its output that is no message', {
      backend: preset.name,
      run: this.#owner.spec.run,
      text: beginning,
    });
  }
}
