import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { TaskId, isReveilleError, type CallerWorld, type TaskView } from '@reveille/protocol';
import { z } from 'zod';
import type { ToolResult } from '../call.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
const POLL_MS = 1_000;

/** What a client may ask of a task by its id. */
export const TaskParams = z.looseObject({ taskId: z.string().max(200) });

const Capable = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    extensions: z.looseObject({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
});
/** Each request of the 2026 era says what its client can do: whether it takes a task in the place of a result. */
export const takesTasks = ({ mcpReq }: ServerContext): boolean => Capable.safeParse(mcpReq.envelope).success;

/** Whether this call would wait for a child, and so can be answered with a task: the child. */
export function waitsForChild(name: string, input: Readonly<Record<string, unknown>> | undefined): boolean {
  return name === 'a2a_spawn_subtask' && input?.['blocking'] !== false;
}

const SPAWNED = z.looseObject({ state: z.literal('running'), taskId: TaskId });
/** The child that a call started; null if it did not, and the result says why. */
export function childOf({ structured }: ToolResult): TaskId | null {
  return SPAWNED.safeParse(structured).data?.taskId ?? null;
}

/** A task of the engine as the protocol shows one. It is on record, so it does not expire. */
export function shown({ task }: TaskView): Record<string, unknown> {
  return {
    taskId: task.id,
    status: task.state === 'cancelled' ? 'cancelled' : 'working',
    statusMessage: `${task.state}: ${task.why}`.slice(0, 500),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.since).toISOString(),
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
}

/** A task of the caller's own, and of nobody else's: what is not is as if it were not there. */
export async function ownTask({ orchestrator, caller }: CallerWorld, id: string): Promise<TaskView> {
  const unknown = new ProtocolError(ProtocolErrorCode.InvalidParams, 'You have no such task.');
  const parsed = TaskId.safeParse(id);
  if (!parsed.success || caller.kind === 'person') throw unknown;
  const view = await orchestrator.getTask(parsed.data).catch((error: unknown) => {
    throw isReveilleError(error, 'not_found') || isReveilleError(error, 'not_allowed') ? unknown : error;
  });
  if (view.task.owner !== caller.session) throw unknown;
  return view;
}

const Awaited = z.looseObject({
  why: z.enum(['ended', 'needs_you', 'timeout']),
  updates: z.array(z.looseObject({})),
});

/** How a tool of the catalogue is called in the name of the client, and answered in the protocol's form. */
type CallTool = (name: string, input: Record<string, unknown>) => Promise<CallToolResult>;

/**
 * What the spawn that waited for this child would have been answered by now; null: nothing yet. It is taken from the mail
 * by the answer it is for, and no sooner: if that is lost, it is mail again. Asked once more, the record tells it.
 */
export async function resultOf({ task, end }: TaskView, call: CallTool): Promise<CallToolResult | null> {
  const look = await call('a2a_await_subtasks', { taskIds: [task.id], timeout: 0 });
  if (look.isError) return look;
  const { why, updates } = Awaited.parse(look.structuredContent);
  if (why === 'timeout') return null;
  const known = updates.length > 0 ? look : await call('a2a_subtask_status', { taskId: task.id });
  const structuredContent = { state: why, taskId: task.id, status: end?.status ?? null, updates };
  return { ...known, structuredContent };
}
