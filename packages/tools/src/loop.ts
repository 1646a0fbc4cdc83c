import type { CallerWorld } from '@reveille/protocol';
import { callTool, type ToolResult } from './call.ts';
import { toolsFor } from './permission.ts';
import { inputSchema, type JsonSchema } from './schema.ts';

export interface LoopCall {
  /** The model's own id of the call: a call that is made again is the same call. */
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly progress?: (message: string) => void;
}

/** A tool as an in-process loop takes it. It never throws: what went wrong is in the result. */
export interface LoopTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly readOnly: boolean;
  execute(input: unknown, call: LoopCall): Promise<ToolResult>;
}

/** Nobody gives up on a loop's call but the loop itself; after this it may decide anew. */
const PATIENCE_MS = 3_600_000;

/** The tools of one caller for the built-in loop: the same names, words, inputs and behaviour as over MCP (TOL1). */
export function asLoopTools(world: CallerWorld): LoopTool[] {
  return toolsFor(world).map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: inputSchema(tool),
    readOnly: tool.annotations.readOnly,
    execute: async (input, { callId, signal, progress = () => undefined }) => {
      const call = { ...world, callId, signal, progress, patienceMs: PATIENCE_MS };
      const result = await callTool(tool.name, input, call);
      world.delivered?.();
      return result;
    },
  }));
}
