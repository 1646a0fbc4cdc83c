import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { methods, type AgentContext, type McpServer } from '@agentclientprotocol/sdk';

export type Step = { readonly do: string } & Readonly<Record<string, unknown>>;

export interface Block {
  readonly type: string;
  readonly id?: string | undefined;
  readonly name?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly input?: Record<string, unknown>;
  readonly tool_use_id?: string | undefined;
  readonly content?: string;
}

/** What was said, as Anthropic's Messages have it. */
export interface Said {
  readonly role: 'user' | 'assistant';
  readonly content: string | readonly Block[];
}

/** What a session remembers, in a file of the agent's home, so that a later process can load it. */
export interface Saved {
  cwd: string;
  steps: Step[];
  at: number;
  given: string[];
  messages: Said[];
}

export interface Session extends Saved {
  readonly id: string;
  readonly mcp: readonly McpServer[];
  cancel: AbortController;
  steered: string[];
  onSteer: () => void;
  prompting: boolean;
}

const folder = join(homedir(), 'scripted-sessions');
const fileOf = (id: string): string => join(folder, `${id}.json`);

export const newSession = (id: string, cwd: string, mcp: readonly McpServer[]): Session =>
  sessionOf(id, { cwd, steps: [], at: 0, given: [], messages: [] }, mcp);

export function sessionOf(id: string, saved: Saved, mcp: readonly McpServer[]): Session {
  const cancel = new AbortController();
  return { id, mcp, ...saved, cancel, steered: [], onSteer: () => undefined, prompting: false };
}

export function save({ id, cwd, steps, at, given, messages }: Session): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(id), JSON.stringify({ cwd, steps, at, given, messages }));
}

/** Null: there is none of that name. */
export const load = (id: string): Saved | null =>
  existsSync(fileOf(id)) ? (JSON.parse(readFileSync(fileOf(id), 'utf8')) as Saved) : null;

let calls = 0;
export const nextCallId = (): string => `call-${++calls}`;

/** Whoever tells the client what happens in a session. */
export class Telling {
  readonly session: Session;
  readonly client: AgentContext;
  last = '';

  constructor(session: Session, client: AgentContext) {
    this.session = session;
    this.client = client;
  }

  update(update: Record<string, unknown>): Promise<void> {
    const params = { sessionId: this.session.id, update };
    return this.client.notify<unknown>(methods.client.session.update, params);
  }

  say(words: string): Promise<void> {
    return this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } });
  }

  think(words: string): Promise<void> {
    return this.update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: words } });
  }

  /** A call from its announcement to its end, as agents show it. */
  async tool(what: Record<string, unknown>, work: () => Promise<Record<string, unknown>>): Promise<void> {
    const toolCallId = nextCallId();
    await this.update({ sessionUpdate: 'tool_call', toolCallId, status: 'pending', ...what });
    let end: Record<string, unknown>;
    try {
      end = { status: 'completed', ...(await work()) };
    } catch (error) {
      end = { status: 'failed', ...this.result(String(error)) };
    }
    await this.update({ sessionUpdate: 'tool_call_update', toolCallId, ...end });
  }

  result(words: string): Record<string, unknown> {
    this.last = words;
    return { content: [{ type: 'content', content: { type: 'text', text: words } }] };
  }
}
