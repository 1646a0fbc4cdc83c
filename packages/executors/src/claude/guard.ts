import type { ExecutorEvent, StartSpec } from '@reveille/core';
import type { House } from './house.ts';
import { pathOf, plainName } from './translate.ts';

const READS = new Set(['Read', 'Glob', 'Grep']);
const WRITES = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);

type Answer = { behavior: 'allow'; updatedInput: unknown } | { behavior: 'deny'; message: string };

/** What the agent wants to do passes here first: paths, then permission. The sandbox holds what this cannot see. */
export class Guard {
  readonly #spec: StartSpec;
  readonly #house: House;
  readonly #say: (event: ExecutorEvent) => void;

  constructor(spec: StartSpec, house: House, say: (event: ExecutorEvent) => void) {
    this.#spec = spec;
    this.#house = house;
    this.#say = say;
  }

  /** Before every call, asked for or not. */
  readonly before = async (input: unknown): Promise<Record<string, unknown>> => {
    const { tool_name: tool, tool_input: given } = input as { tool_name?: string; tool_input?: unknown };
    const why = this.#refusal(tool ?? '', given);
    if (why === null) return {};
    return {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: why,
      },
    };
  };

  /** Where the agent itself would ask a person. */
  readonly canUseTool = async (
    tool: string,
    input: Record<string, unknown>,
    options: { readonly signal: AbortSignal; readonly title?: string; readonly toolUseID?: string },
  ): Promise<Answer> => {
    const why = this.#refusal(tool, input);
    if (why !== null) return { behavior: 'deny', message: why };
    const what = options.title ?? `${plainName(tool)} ${JSON.stringify(input)}`.slice(0, 2_000);
    const id = options.toolUseID ?? `${tool}:${JSON.stringify(input)}`.slice(0, 200);
    this.#say({ type: 'permission_asked', id, what });
    try {
      const wish = { tool: plainName(tool), input, text: what, key: id };
      const answer = await this.#house.permit(this.#spec, wish, options.signal);
      this.#say({ type: 'permission_settled', id, granted: answer.granted });
      if (answer.granted) return { behavior: 'allow', updatedInput: input };
      return { behavior: 'deny', message: answer.why };
    } catch (error) {
      this.#say({ type: 'permission_settled', id, granted: false });
      return { behavior: 'deny', message: `Nobody could be asked: ${String(error)}` };
    }
  };

  #refusal(tool: string, input: unknown): string | null {
    const path = pathOf(input);
    if (path === null || (!READS.has(tool) && !WRITES.has(tool))) return null;
    return this.#house.refuses(this.#spec, path, WRITES.has(tool) ? 'write' : 'read');
  }
}
