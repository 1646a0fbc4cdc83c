import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The name under which the Agent SDK is found. It is large, and the person's own choice: nobody gets it unasked. */
export const SDK_PACKAGE = '@anthropic-ai/claude-agent-sdk';

/** What is used of the SDK: its own types cannot be asked for where it is not installed. */
export interface ClaudeSdk {
  query(given: { prompt: AsyncIterable<UserMessage>; options: Record<string, unknown> }): ClaudeQuery;
}

export interface ClaudeQuery extends AsyncIterable<ClaudeMessage> {
  interrupt(): Promise<unknown>;
  close?(): void;
}

export interface UserMessage {
  readonly type: 'user';
  readonly message: { readonly role: 'user'; readonly content: string };
  readonly parent_tool_use_id: null;
  readonly uuid: string;
}

/** A piece of what a model said. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly is_error?: boolean;
  readonly content?: unknown;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
}

/** What one request took, as the message that began its answer says it. What came back is counted only later. */
export interface MessageUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
}

/** Every field may be missing: it comes from a program of another version. */
export interface ClaudeMessage {
  readonly type: string;
  readonly subtype?: string;
  readonly session_id?: string;
  readonly parent_tool_use_id?: string | null;
  readonly error?: string;
  /** Of a retry: the status the endpoint answered with; null if it did not answer. */
  readonly error_status?: number | null;
  /** Of a `stream_event`: what the endpoint streamed. */
  readonly event?: { readonly type?: string };
  readonly message?: {
    readonly id?: string;
    readonly model?: string;
    readonly content?: readonly Block[] | string;
    readonly usage?: MessageUsage;
  };
  readonly is_error?: boolean;
  readonly stop_reason?: string | null;
  readonly api_error_status?: number | null;
  readonly result?: string;
  readonly errors?: readonly string[];
  readonly queued_turn_count?: number;
  readonly total_cost_usd?: number;
  readonly modelUsage?: Readonly<Record<string, ModelUsage>>;
}

/**
 * The SDK, from the folder where agents are installed if there is one, else as any package of ours would find it. Null:
 * it is not there.
 */
export async function loadSdk(folder: string | null): Promise<ClaudeSdk | null> {
  const file = sdkFile(folder);
  if (file === null) return null;
  // It has a `query`, or what is installed under that name is something else.
  const loaded = (await import(pathToFileURL(file).href)) as Partial<ClaudeSdk>;
  return loaded.query ? (loaded as ClaudeSdk) : null;
}

/** The program that came with the SDK, if it was installed with one. */
export function bundledProgram(folder: string | null): string | null {
  const file = sdkFile(folder);
  if (file === null) return null;
  try {
    const found = createRequire(file).resolve(
      `${SDK_PACKAGE}-${process.platform}-${process.arch}/package.json`,
    );
    return join(dirname(found), 'claude');
  } catch {
    return null;
  }
}

export function sdkFile(folder: string | null): string | null {
  const from = [...(folder === null ? [] : [join(folder, 'package.json')]), import.meta.filename];
  for (const place of from) {
    try {
      return createRequire(place).resolve(SDK_PACKAGE);
    } catch {
      // Not here; perhaps in the next place.
    }
  }
  return null;
}
