import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type Tool as McpTool,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isReveilleError, isTerminal, type CallerWorld, type ToolWorld } from '@reveille/protocol';
import { callTool, type ToolResult } from '../call.ts';
import { isTool, toolNamed, toolsFor } from '../permission.ts';
import { inputSchema, outputSchema } from '../schema.ts';
import type { Tool } from '../tool.ts';
import { answeredBy } from './answered.ts';
import type { McpCaller, McpOptions } from './caller.ts';
import { Heartbeat } from './heartbeat.ts';
import { instructionsFor } from './instructions.ts';
import {
  TASKS_EXTENSION,
  TaskParams,
  childOf,
  ownTask,
  resultOf,
  shown,
  takesTasks,
  waitsForChild,
} from './tasks.ts';

/** A client that shows no sign of wanting progress gives up after a minute, by the default of the usual SDKs (SUB2). */
const PATIENCE_MS = { silent: 50_000, withProgress: 600_000 } as const;
const PROGRESS_EVERY_MS = 5_000;
/** Where clients put the model's own id of a call, which a repeated call has again. */
const CALL_IDS = ['claudecode/toolUseId', 'dev.reveille/callId'] as const;
const LONGEST_CALL_ID = 500;

/**
 * The catalogue as an MCP server of one caller, for one connection or one request of either era. It keeps nothing: all
 * that lasts is in the engine, under the caller's session.
 */
export function mcpServer(caller: McpCaller, options: McpOptions, connection: string | null): McpServer {
  const mcp = new McpServer(
    { name: 'reveille', title: 'Reveille', version: options.version },
    {
      capabilities: { tools: { listChanged: true }, extensions: { [TASKS_EXTENSION]: {} } },
      instructions: instructionsFor(caller.kind),
    },
  );
  const { server } = mcp;
  server.onerror = (error) => options.onError?.(error);
  server.setRequestHandler('tools/list', async () => ({
    tools: toolsFor(await worldOf(caller, options)).map(listed),
  }));
  const calling = (world: CallerWorld, context: ServerContext) => async (name: string, input: unknown) => {
    const call = {
      name,
      input,
      world,
      connection,
      options,
      client: clientOf(server),
      answered: answeredBy(mcp),
    };
    return run(call, context);
  };
  const answer = (name: string, world: CallerWorld, result: ToolResult): CallToolResult => {
    const tool = toolsFor(world).find((one) => one.name === name);
    return server.projectCallToolResult(toCallResult(result), tool && outputSchema(tool));
  };
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: input } = params;
    const world = await worldOf(caller, options);
    if (!isTool(name)) throw unknownTool(name, world);
    const call = calling(world, context);
    const asTask = takesTasks(context) && waitsForChild(name, input);
    const result = await call(name, asTask ? { ...input, blocking: false } : input);
    const child = asTask ? childOf(result) : null;
    if (child === null) return answer(name, world, result);
    // A result of the extension, which the types of the core do not have.
    return { ...shown(await ownTask(world, child)), resultType: 'task' } as unknown as CallToolResult;
  });
  server.setRequestHandler('tasks/get', { params: TaskParams }, async ({ taskId }, context) => {
    const world = await worldOf(caller, options);
    const view = await ownTask(world, taskId);
    const call = calling(world, context);
    if (view.task.state === 'cancelled') return { ...shown(view), resultType: 'complete' };
    const result = await resultOf(view, async (name, input) => answer(name, world, await call(name, input)));
    const state = result === null ? {} : { status: 'completed', result };
    return { ...shown(view), ...state, resultType: 'complete' };
  });
  server.setRequestHandler('tasks/cancel', { params: TaskParams }, async ({ taskId }) => {
    const world = await worldOf(caller, options);
    const { task } = await ownTask(world, taskId);
    if (!isTerminal(task.state)) await world.orchestrator.cancelTask(task.id, 'cancelled by its client');
    return { resultType: 'complete' };
  });
  return mcp;
}

/** A caller whose credential no longer counts is told so; what else goes wrong is nobody's business but the log's. */
async function worldOf(caller: McpCaller, options: McpOptions): Promise<CallerWorld> {
  try {
    return await caller.world();
  } catch (error) {
    options.onError?.(error instanceof Error ? error : new Error(String(error)));
    if (isReveilleError(error)) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, error.message);
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
  }
}

function listed(tool: Tool): McpTool {
  const { name, title, description, annotations } = tool;
  // Both are schemas of objects: every input and output of the catalogue is one.
  const schemas = { inputSchema: inputSchema(tool), outputSchema: outputSchema(tool) } as Pick<
    McpTool,
    'inputSchema' | 'outputSchema'
  >;
  return {
    name,
    title,
    description,
    ...schemas,
    annotations: {
      title,
      readOnlyHint: annotations.readOnly,
      destructiveHint: annotations.destructive,
      idempotentHint: annotations.idempotent,
      openWorldHint: annotations.openWorld,
    },
    _meta: ALWAYS_LOADED,
  };
}

/** Claude Code hides tools behind a search of its own unless they say that they are always needed; a model that is not told of them calls none. */
const ALWAYS_LOADED = { 'anthropic/alwaysLoad': true } as const;

/** The protocol has its own error for a name that nothing has; its words teach like any other. */
function unknownTool(name: string, world: CallerWorld): Error {
  try {
    toolNamed(name, world);
  } catch (error) {
    return new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      error instanceof Error ? error.message : String(error),
    );
  }
  return new ProtocolError(ProtocolErrorCode.InternalError, 'The tool exists after all.');
}

interface Call {
  readonly name: string;
  readonly input: unknown;
  readonly world: CallerWorld;
  readonly connection: string | null;
  readonly options: McpOptions;
  readonly client: ReturnType<typeof clientOf>;
  readonly answered: ReturnType<typeof answeredBy>;
}

async function run(wanted: Call, context: ServerContext): Promise<ToolResult> {
  const { name, input, world, connection, options, client, answered } = wanted;
  const token = context.mcpReq._meta?.progressToken;
  const everyMs = options.progressEveryMs ?? PROGRESS_EVERY_MS;
  using heartbeat = token === undefined ? undefined : new Heartbeat(context, token, everyMs);
  const patience =
    options.patience ?? ((_, progress) => (progress ? PATIENCE_MS.withProgress : PATIENCE_MS.silent));
  const call: ToolWorld = {
    ...world,
    signal: givenUp(context),
    progress: (message) => heartbeat?.say(message),
    callId: callIdOf(context, connection),
    patienceMs: patience(client, token !== undefined),
  };
  const result = await callTool(name, input, call);
  const unheard = async (): Promise<void> => {
    await world.undelivered?.().catch((error: unknown) => {
      world.log?.('error', 'mail that was not heard could not be given back', { error: String(error) });
    });
  };
  // Nobody hears this answer, or nobody will: what it holds must come by mail again.
  if (call.signal.aborted) await unheard();
  else {
    const request = context.http?.req;
    request?.signal.addEventListener('abort', () => void unheard(), { once: true });
    answered.add(context.mcpReq.id, () => void unheard());
    if (request && options.sent) void options.sent(request).then(world.delivered);
    else world.delivered?.();
  }
  return result;
}

/** By the protocol's word, or because nobody is there to hear the answer: what is taken for it would be lost. */
function givenUp({ mcpReq, http }: ServerContext): AbortSignal {
  return http?.req ? AbortSignal.any([mcpReq.signal, http.req.signal]) : mcpReq.signal;
}

/** A request's own number is unlike others only within its connection: a client that starts anew counts anew. */
function callIdOf({ mcpReq }: ServerContext, connection: string | null): string | null {
  for (const key of CALL_IDS) {
    const id = mcpReq._meta?.[key];
    if (typeof id === 'string' && id !== '' && id.length <= LONGEST_CALL_ID) return `${key}:${id}`;
  }
  return connection === null ? null : `${connection}:${typeof mcpReq.id}:${mcpReq.id}`;
}

function clientOf(server: Server): { name: string; version: string } | null {
  const client = server.getClientVersion();
  return client ? { name: client.name, version: client.version } : null;
}

function toCallResult({ text, structured, isError, error, notice }: ToolResult): CallToolResult {
  const words = [text, ...(notice === null ? [] : [notice])];
  return {
    content: words.map((part) => ({ type: 'text', text: part })),
    ...(structured === null ? {} : { structuredContent: structured }),
    ...(isError ? { isError } : {}),
    ...(error === null ? {} : { _meta: { 'dev.reveille/error': { code: error.code } } }),
  };
}
