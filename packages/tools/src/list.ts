import { TOOLS } from './catalogue.ts';
import { inputSchema, outputSchema, type JsonSchema } from './schema.ts';
import type { Annotations, Tool } from './tool.ts';

/** A tool as the editor's manifest and the documentation are made from it. */
export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: Annotations;
  readonly callers: Tool['callers'];
  readonly needs: Tool['needs'];
}

/** The whole catalogue as JSON. */
export function toolsJson(): ListedTool[] {
  return TOOLS.map((tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: inputSchema(tool),
    outputSchema: outputSchema(tool),
    annotations: tool.annotations,
    callers: tool.callers,
    needs: tool.needs,
  }));
}
