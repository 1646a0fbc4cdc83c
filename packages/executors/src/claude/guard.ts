import { resolve, sep } from 'node:path';
import type { ExecutorEvent, StartSpec } from '@reveille/core';
import { allows, judge, wishOf } from '../acp/permission.ts';
import type { Launch } from '../acp/process.ts';
import type { ClaudeOptions } from './options.ts';
import { pathOf, plainName } from './translate.ts';

/** What kind of thing a tool does, in the words in which every agent's wishes are judged. */
const KINDS: Readonly<Record<string, string>> = {
  Read: 'read',
  Glob: 'search',
  Grep: 'search',
  TodoWrite: 'think',
  Write: 'edit',
  Edit: 'edit',
  NotebookEdit: 'edit',
  Bash: 'execute',
  BashOutput: 'read',
  KillShell: 'execute',
};

type Answer = { behavior: 'allow'; updatedInput: unknown } | { behavior: 'deny'; message: string };

export interface GuardParts {
  readonly spec: StartSpec;
  readonly options: ClaudeOptions;
  readonly launch: Launch;
  readonly say: (event: ExecutorEvent) => void;
}

/** What the agent wants to do passes here first: paths, then permission. The sandbox holds what this cannot see. */
export class Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /** Before every call, asked for or not. */
  readonly before = async (given: unknown): Promise<Record<string, unknown>> => {
    const { tool_name: tool = '', tool_input: input } = given as { tool_name?: string; tool_input?: unknown };
    const why = this.#refusal(tool, input);
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
    { signal, toolUseID }: { readonly signal: AbortSignal; readonly toolUseID?: string },
  ): Promise<Answer> => {
    const why = this.#refusal(tool, input);
    if (why !== null) return { behavior: 'deny', message: why };
    const { spec, options, launch } = this.#parts;
    const call = { kind: KINDS[tool] ?? 'other', name: tool, title: plainName(tool), rawInput: input };
    const writes = !spec.role?.readOnly;
    const verdict = judge(call, {
      policy: options.policy,
      confined: launch.confined,
      writes,
      // It calls ours by names that say whose they are.
      ownTools: new Set(),
    });
    const granted =
      verdict === 'ask' ? await this.#ask(call, toolUseID ?? tool, signal) : verdict === 'allow';
    if (granted) return { behavior: 'allow', updatedInput: input };
    return { behavior: 'deny', message: 'It was not allowed. Go on without it, or ask your parent.' };
  };

  async #ask(call: Record<string, unknown>, id: string, signal: AbortSignal): Promise<boolean> {
    const { spec, options, say } = this.#parts;
    const wish = wishOf(call);
    say({ type: 'permission_asked', id, what: wish.text });
    const granted = await options.approve(spec, wish, signal).then(allows, () => false);
    say({ type: 'permission_settled', id, granted });
    return granted;
  }

  /** Told here in words it can use; the sandbox would only say that there is no such place. */
  #refusal(tool: string, input: unknown): string | null {
    const path = pathOf(input);
    if (path === null || KINDS[tool] !== 'edit') return null;
    const { workdir } = this.#parts.launch;
    const place = resolve(workdir, path);
    if (place === workdir || place.startsWith(workdir + sep)) return null;
    return `${path} is outside of your worktree ${workdir}: you can write only in there.`;
  }
}
