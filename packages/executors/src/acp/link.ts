import type { Readable, Writable } from 'node:stream';
import {
  PROTOCOL_VERSION,
  client,
  methods,
  type ClientConnection,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import type { ClientDoors } from './doors.ts';
import { streamOf } from './lines.ts';
import { at, fieldsOf, textOf, type Fields } from './shapes.ts';

/** Who hears what an agent says. */
export interface Ears {
  /** A `session/update`. */
  readonly update: (session: string, update: unknown) => void;
  readonly permission: (toolCall: unknown, options: unknown) => Promise<RequestPermissionResponse>;
  /** Something that is no message. */
  readonly garbage: (beginning: string) => void;
}

interface Pipes {
  readonly input: Writable;
  readonly output: Readable;
}

/** What an agent announced. */
export interface Announced {
  readonly protocol: number;
  readonly agent: string;
  readonly version: string;
  readonly loads: boolean;
  readonly resumes: boolean;
  readonly steers: boolean;
  readonly httpMcp: boolean;
  readonly logins: readonly string[];
}

/** What an agent is given of our tools. */
export type ToolServer =
  | { readonly type: 'http'; readonly name: string; readonly url: string; readonly headers: readonly Pair[] }
  | {
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly Pair[];
    };
interface Pair {
  readonly name: string;
  readonly value: string;
}

const STEER = '_session/steering';
const ANYTHING = (params: unknown): unknown => params;

/** The protocol, spoken with one agent. Errors of its requests are the agent's answers; nothing is interpreted here. */
export class Link {
  readonly #connection: ClientConnection;

  constructor(pipes: Pipes, ears: Ears, doors: ClientDoors) {
    const { client: own } = methods;
    const takes = (message: Fields): boolean => {
      if (message['method'] !== own.session.update) return false;
      // The SDK refuses, loudly, kinds of updates that it does not know; agents send such.
      const { sessionId, update } = fieldsOf(message['params']);
      ears.update(textOf(sessionId), update);
      return true;
    };
    const { garbage } = ears;
    this.#connection = client({ name: 'reveille' })
      .onRequest(own.session.requestPermission, ANYTHING, ({ params }) => {
        const { toolCall, options } = fieldsOf(params);
        return ears.permission(toolCall, options);
      })
      .onRequest(own.fs.readTextFile, ANYTHING, ({ params }) => doors.readFile(params))
      .onRequest(own.fs.writeTextFile, ANYTHING, ({ params }) => doors.writeFile(params))
      .onRequest(own.terminal.create, ANYTHING, ({ params }) => doors.createTerminal(params))
      .onRequest(own.terminal.output, ANYTHING, ({ params }) => doors.output(params))
      .onRequest(own.terminal.waitForExit, ANYTHING, ({ params }) => doors.waitForExit(params))
      .onRequest(own.terminal.kill, ANYTHING, ({ params }) => doors.kill(params))
      .onRequest(own.terminal.release, ANYTHING, ({ params }) => doors.release(params))
      .connect(streamOf(pipes.input, pipes.output, { garbage, takes }));
  }

  async initialize(version: string): Promise<Announced> {
    const said = await this.#ask(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'reveille', title: 'Reveille', version },
    });
    return announcedIn(said);
  }

  async authenticate(method: string): Promise<void> {
    await this.#ask(methods.agent.authenticate, { methodId: method });
  }

  /** Opens a session and answers with its name. */
  async open(cwd: string, mcpServers: readonly ToolServer[]): Promise<string> {
    const said = await this.#ask(methods.agent.session.new, { cwd, mcpServers });
    return textOf(fieldsOf(said)['sessionId']);
  }

  /** Goes on with a session of an earlier life. `load` tells its history as updates before it answers. */
  async reopen(
    way: 'load' | 'resume',
    session: { readonly id: string; readonly cwd: string; readonly mcpServers: readonly ToolServer[] },
  ): Promise<void> {
    const { id: sessionId, ...rest } = session;
    const method = way === 'load' ? methods.agent.session.load : methods.agent.session.resume;
    await this.#ask(method, { sessionId, ...rest });
  }

  /** A turn. Answers when it has ended. */
  async prompt(sessionId: string, text: string): Promise<Fields> {
    return fieldsOf(
      await this.#ask(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
    );
  }

  /** Whether it joined the open turn. If there is none any more the agent is not to begin one by itself. */
  async steer(sessionId: string, text: string): Promise<boolean> {
    const said = await this.#ask(STEER, {
      sessionId,
      prompt: [{ type: 'text', text }],
      _meta: { steering: { idleBehavior: 'promptRequired' } },
    });
    return fieldsOf(said)['outcome'] === 'injected';
  }

  cancel(sessionId: string): void {
    this.#connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => undefined);
  }

  close(): void {
    this.#connection.close();
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    return this.#connection.agent.request<unknown, unknown>(method, params);
  }
}

function announcedIn(said: unknown): Announced {
  const capabilities = at(said, 'agentCapabilities');
  const methodsOffered = fieldsOf(said)['authMethods'];
  return {
    protocol: Number(fieldsOf(said)['protocolVersion']),
    agent: textOf(at(said, 'agentInfo', 'name')),
    version: textOf(at(said, 'agentInfo', 'version')),
    loads: at(capabilities, 'loadSession') === true,
    resumes: at(capabilities, 'sessionCapabilities', 'resume') !== undefined,
    steers:
      at(said, '_meta', 'steering', 'supported') === true ||
      at(capabilities, '_meta', 'steering', 'supported') === true,
    httpMcp: at(capabilities, 'mcpCapabilities', 'http') === true,
    logins: (Array.isArray(methodsOffered) ? methodsOffered : []).map((way) => textOf(at(way, 'id'))),
  };
}
