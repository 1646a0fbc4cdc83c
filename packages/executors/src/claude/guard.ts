import { resolve, sep } from 'node:path';
import type { ExecutorEvent, StartSpec } from '@reveille/core';
import { actionOf, allows, judge, ownToolsOf, ruledOut, wishOf, type Judging } from '../acp/permission.ts';
import type { Launch } from '../acp/process.ts';
import { CLAUDE, type ClaudeOptions } from './options.ts';
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

const DENIED = 'It was not allowed. Go on without it, or ask your parent.';

type Call = ReturnType<typeof callOf>;

const callOf = (tool: string, input: unknown) => ({
  kind: KINDS[tool] ?? 'other',
  name: tool,
  title: plainName(tool),
  rawInput: input,
});

const decision = (permissionDecision: 'deny' | 'ask', permissionDecisionReason: string) => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason },
});

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
  readonly #judging: Judging;

  constructor(parts: GuardParts) {
    this.#parts = parts;
    const { spec, options, launch } = parts;
    const ownTools = ownToolsOf({ ownTools: options.ownTools, preset: CLAUDE });
    const writes = !spec.role?.readOnly;
    this.#judging = { policy: options.policy, confined: launch.confined, writes, ownTools };
  }

  /** Before every call, asked for or not. */
  readonly before = async (given: unknown): Promise<Record<string, unknown>> => {
    const { tool_name: tool = '', tool_input: input } = given as { tool_name?: string; tool_input?: unknown };
    const why = this.#refusal(tool, input);
    if (why !== null) return decision('deny', why);
    const verdict = await this.#judged(callOf(tool, input));
    if (verdict === 'deny') return decision('deny', DENIED);
    // Who is asked, and what comes of it, is found out below: a hook may not wait for a person.
    return verdict === 'ask' ? decision('ask', 'Somebody has to agree to it first.') : {};
  };

  /** Where the agent itself would ask a person. */
  readonly canUseTool = async (
    tool: string,
    input: Record<string, unknown>,
    { signal, toolUseID }: { readonly signal: AbortSignal; readonly toolUseID?: string },
  ): Promise<Answer> => {
    const why = this.#refusal(tool, input);
    if (why !== null) return { behavior: 'deny', message: why };
    const call = callOf(tool, input);
    if (this.#parts.options.permits) return this.#permitted(call, { input, id: toolUseID ?? tool, signal });
    const verdict = judge(call, this.#judging);
    const granted =
      verdict === 'ask' ? await this.#ask(call, toolUseID ?? tool, signal) : verdict === 'allow';
    if (granted) return { behavior: 'allow', updatedInput: input };
    return { behavior: 'deny', message: DENIED };
  };

  /** What the person's policy says of it; `allow` and `deny` where it has no say. */
  async #judged(call: Call): Promise<'allow' | 'deny' | 'auto' | 'ask'> {
    const { spec, options } = this.#parts;
    const ruled = ruledOut(call, this.#judging);
    return ruled ?? (await options.permits?.judge(spec, actionOf(call, this.#judging))) ?? 'auto';
  }

  async #permitted(
    call: Call,
    { input, id, signal }: { input: Record<string, unknown>; id: string; signal: AbortSignal },
  ): Promise<Answer> {
    const { spec, options, say } = this.#parts;
    const verdict = await this.#judged(call);
    if (verdict === 'deny') return { behavior: 'deny', message: DENIED };
    if (verdict === 'ask') say({ type: 'permission_asked', id, what: wishOf(call).text });
    const action = actionOf(call, this.#judging);
    const permit =
      verdict === 'ask'
        ? await options.permits?.permit(spec, action, signal).catch(() => ({ allowed: false, why: DENIED }))
        : { allowed: true };
    const granted = permit?.allowed ?? false;
    if (verdict === 'ask') say({ type: 'permission_settled', id, granted });
    if (granted) return { behavior: 'allow', updatedInput: input };
    return { behavior: 'deny', message: permit?.why ?? DENIED };
  }

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
