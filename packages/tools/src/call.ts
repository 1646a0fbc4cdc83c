import { ReveilleError, isReveilleError, type ErrorCode, type ToolWorld } from '@reveille/protocol';
import { actionOf } from './action.ts';
import { OUTPUT_CHARS, bound } from './bound.ts';
import { BROKEN, teachingError } from './failure.ts';
import { parseToolInput } from './input.ts';
import { noticeFor } from './notices.ts';
import { toolNamed, toolsFor } from './permission.ts';
import { ownerOf } from './shelf.ts';
import type { Tool, ToolOutput } from './tool.ts';

/** What every door gives its caller, in its own form. */
export interface ToolResult {
  readonly text: string;
  /** The same as data; fits the tool's output schema unless `isError`. */
  readonly structured: Record<string, unknown> | null;
  readonly isError: boolean;
  readonly error: { readonly code: ErrorCode; readonly data: Readonly<Record<string, unknown>> } | null;
  /** Words of Reveille, not of the tool: mail waits. */
  readonly notice: string | null;
}

/** The one place that runs tools: may the caller, is the input right, what came of it, does it fit, is there mail. */
export async function callTool(name: string, rawInput: unknown, world: ToolWorld): Promise<ToolResult> {
  let result: Omit<ToolResult, 'notice'>;
  try {
    const tool = toolNamed(name, world);
    const has = (other: string): boolean => toolsFor(world).some((own) => own.name === other);
    const input = parseToolInput(tool, rawInput);
    if (world.signal.aborted) throw new ReveilleError('aborted', 'The call was given up.');
    await checkLeave(tool, input, world);
    result = succeeded(await tool.run(input, { ...world, has }), world);
  } catch (error) {
    result = failed(error, name, world);
  }
  const notice = world.signal.aborted ? null : await noticeFor(world);
  if (notice === null) return { ...result, notice };
  const structured = result.structured && { ...result.structured, notice };
  return { ...result, structured, notice };
}

/** What the person's policy says of it, or somebody who is asked (INB2). */
async function checkLeave(tool: Tool, input: unknown, world: ToolWorld): Promise<void> {
  const wanted = world.permit ? await actionOf(tool, input, world) : null;
  if (!wanted || !world.permit) return;
  const { signal, patienceMs } = world;
  const permit = await world.permit(wanted, { signal, patienceMs });
  if (!permit.allowed) throw new ReveilleError('not_allowed', permit.why, { data: { tool: tool.name } });
}

function succeeded(output: ToolOutput, world: ToolWorld): Omit<ToolResult, 'notice'> {
  const keep = (text: string): string => world.outputs.keep(ownerOf(world.caller), text);
  const { text, structured } = bound(output, { most: world.outputChars ?? OUTPUT_CHARS, keep });
  return { text, structured, isError: output.refused ?? false, error: null };
}

function failed(error: unknown, tool: string, world: ToolWorld): Omit<ToolResult, 'notice'> {
  const known = isReveilleError(error) && error.code !== 'internal';
  if (known) {
    const { code, data } = error;
    return { text: teachingError(error), structured: null, isError: true, error: { code, data } };
  }
  world.log?.('error', 'a tool broke', {
    tool,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return { text: BROKEN, structured: null, isError: true, error: { code: 'internal', data: {} } };
}
