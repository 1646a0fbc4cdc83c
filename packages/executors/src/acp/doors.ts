import { RequestError } from '@agentclientprotocol/sdk';
import { ReveilleError } from '@reveille/protocol';
import { Tail } from './lines.ts';
import { fieldsOf, listOf, numberOf, textOf } from './shapes.ts';

/**
 * What an agent's client can do for it in its checkout, through the boundary: for the calls that come although nothing
 * of the kind was offered.
 */
export interface Hands {
  readFile(path: string): Promise<string>;
  /** `approved`: somebody has agreed to exactly this write already. */
  writeFile(path: string, content: string, options: { readonly approved: boolean }): Promise<void>;
  /** Runs a command in the sandbox to its end. */
  run(
    command: readonly string[],
    options: {
      readonly signal: AbortSignal;
      readonly env: Readonly<Record<string, string>>;
      readonly output: (text: string) => void;
    },
  ): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

const OUTPUT = 1_000_000;
const TERMINALS = 32;

interface Terminal {
  readonly output: Tail;
  readonly stop: AbortController;
  readonly ended: Promise<ExitStatus>;
  status: ExitStatus | null;
}
interface ExitStatus {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** What the owner of these doors is told and knows. */
interface DoorOwner {
  readonly touched: (path: string) => void;
  /** Whether a write was approved before. It is asked once for each. */
  readonly takeApproval: (path: string, content: string) => boolean;
}

/** The answers to `fs/*` and `terminal/*`. */
export class ClientDoors {
  readonly #hands: Hands | null;
  readonly #owner: DoorOwner;
  readonly #terminals = new Map<string, Terminal>();
  #count = 0;
  /** Commands that have not ended, also of terminals that were released. */
  #running = 0;

  constructor(hands: Hands | null, owner: DoorOwner) {
    this.#hands = hands;
    this.#owner = owner;
  }

  async readFile(params: unknown): Promise<{ content: string }> {
    const { path, line, limit } = fieldsOf(params);
    const text = await this.#through((hands) => hands.readFile(textOf(path)));
    const from = Math.max(0, (numberOf(line) ?? 1) - 1);
    const most = numberOf(limit);
    if (from === 0 && most === null) return { content: text };
    const lines = text.split('\n');
    return { content: lines.slice(from, most === null ? undefined : from + most).join('\n') };
  }

  async writeFile(params: unknown): Promise<Record<string, never>> {
    const fields = fieldsOf(params);
    const [path, content] = [textOf(fields['path']), textOf(fields['content'])];
    const approved = this.#owner.takeApproval(path, content);
    await this.#through((hands) => hands.writeFile(path, content, { approved }));
    this.#owner.touched(path);
    return {};
  }

  async createTerminal(params: unknown): Promise<{ terminalId: string }> {
    const { command, args, env } = fieldsOf(params);
    if (Math.max(this.#terminals.size, this.#running) >= TERMINALS)
      throw new RequestError(-32_603, `There are ${TERMINALS} terminals already; release one.`);
    const output = new Tail(OUTPUT);
    const stop = new AbortController();
    const variables = listOf(env).map(fieldsOf);
    const options = {
      signal: stop.signal,
      env: Object.fromEntries(variables.map(({ name, value }) => [textOf(name), textOf(value)])),
      output: (text: string) => output.add(text),
    };
    // Without arguments it is a line for the shell, as in every client that offers terminals.
    const given = listOf(args).map(textOf);
    const line = textOf(command);
    const argv = given.length > 0 ? [line, ...given] : ['/bin/sh', '-c', line];
    const ended = this.#through((hands) => hands.run(argv, options)).then(
      ({ code, signal }) => ({ exitCode: code, signal }),
      (error: unknown) => {
        output.add(error instanceof Error ? error.message : String(error));
        return { exitCode: stop.signal.aborted ? null : 126, signal: stop.signal.aborted ? 'SIGTERM' : null };
      },
    );
    const id = `terminal-${++this.#count}`;
    const terminal: Terminal = { output, stop, ended, status: null };
    this.#running++;
    void ended.then((status) => {
      terminal.status = status;
      this.#running--;
    });
    this.#terminals.set(id, terminal);
    return { terminalId: id };
  }

  output(params: unknown) {
    const { output, status } = this.#terminal(params);
    return { output: output.text, truncated: output.text.length >= OUTPUT, exitStatus: status };
  }

  waitForExit(params: unknown): Promise<ExitStatus> {
    return this.#terminal(params).ended;
  }

  kill(params: unknown): Record<string, never> {
    this.#terminal(params).stop.abort();
    return {};
  }

  release(params: unknown): Record<string, never> {
    this.#terminal(params).stop.abort();
    this.#terminals.delete(textOf(fieldsOf(params)['terminalId']));
    return {};
  }

  /** Ends what runs, and waits for it. */
  async close(): Promise<void> {
    for (const { stop } of this.#terminals.values()) stop.abort();
    await Promise.all([...this.#terminals.values()].map(({ ended }) => ended));
    this.#terminals.clear();
  }

  #terminal(params: unknown): Terminal {
    const id = textOf(fieldsOf(params)['terminalId']);
    const terminal = this.#terminals.get(id);
    if (!terminal) throw RequestError.resourceNotFound(id);
    return terminal;
  }

  async #through<T>(use: (hands: Hands) => Promise<T>): Promise<T> {
    if (!this.#hands) throw new RequestError(-32_603, 'This agent has no files and no commands.');
    try {
      return await use(this.#hands);
    } catch (error) {
      if (error instanceof ReveilleError && error.code === 'not_found')
        throw new RequestError(-32_002, `Resource not found: ENOENT: ${error.message}`);
      throw new RequestError(-32_603, error instanceof Error ? error.message : String(error));
    }
  }
}
