import { z } from 'zod';
import { AgentType, nearest } from './agent-type.ts';

/** What is done about something an agent wants to do: it is done, somebody is asked first, it is not done. */
export const VERDICTS = ['auto', 'ask', 'deny'] as const;
export const Verdict = z.enum(VERDICTS);
export type Verdict = z.infer<typeof Verdict>;

/** Of two words about the same thing, the one that allows less. */
export const stricter = (a: Verdict, b: Verdict): Verdict =>
  VERDICTS.indexOf(a) >= VERDICTS.indexOf(b) ? a : b;

/** What holds where no rule applies. What each of them means is in one table of core. */
export const PolicyPreset = z.enum(['careful', 'normal', 'trusting']);
export type PolicyPreset = z.infer<typeof PolicyPreset>;

/** What a tool does, whoever made it. `delegate`: it speaks with Reveille itself and touches nothing else. */
export const ACTION_KINDS = ['read', 'write', 'delete', 'command', 'network', 'delegate', 'other'] as const;
export const ActionKind = z.enum(ACTION_KINDS);
export type ActionKind = z.infer<typeof ActionKind>;

/** The tools whose names a rule may use, on every backend: a vendor's own are judged as what they do. */
export const TOOL_KINDS: Readonly<Record<string, ActionKind>> = {
  read_file: 'read',
  list_directory: 'read',
  search_text: 'read',
  navigate_to_symbol: 'read',
  find_usages: 'read',
  explore_module: 'read',
  document_outline: 'read',
  type_of: 'read',
  create_file: 'write',
  edit_file: 'write',
  move_file: 'write',
  delete_file: 'delete',
  run_command: 'command',
  run_tests: 'command',
  web_fetch: 'network',
};

/** Tools of ours that touch nothing but Reveille. */
export const kindOfTool = (name: string): ActionKind =>
  TOOL_KINDS[name] ?? (/^(?:a2a|orchestrator)_/.test(name) ? 'delegate' : 'other');

const pattern = z.string().trim().min(1).max(500);

/** All conditions must hold; one without any holds always. */
export const PolicyRule = z.strictObject({
  tool: pattern
    .optional()
    .describe('A tool, or what it does (read, write, delete, command, network); * is a pattern.'),
  command: pattern.optional().describe('A command line; * is anything: "git push*".'),
  path: pattern.optional().describe('A file as in .gitignore: "*.env", "infra/**".'),
  agent: pattern.optional().describe('An agent: "tester", "claude:*".'),
  aboveUsd: z.number().min(0).max(1_000_000).optional().describe('Once the run has cost more than this.'),
  verdict: Verdict.describe('auto: do it. ask: ask first. deny: never.'),
});
export type PolicyRule = z.infer<typeof PolicyRule>;

/** In order: the first rule that applies decides. Contradictions are said with their place. */
export const PolicyRules = z
  .array(PolicyRule)
  .max(200)
  .superRefine((rules, context) => {
    rules.forEach((rule, i) => {
      for (const problem of problemsOf(rule, rules.slice(0, i)))
        context.addIssue({ code: 'custom', path: [i], message: problem });
    });
  });

const CONDITIONS = ['tool', 'command', 'path', 'agent', 'aboveUsd'] as const;

function problemsOf(rule: PolicyRule, before: readonly PolicyRule[]): string[] {
  const problems: string[] = [];
  const { tool, command, path, aboveUsd, verdict } = rule;
  const kind = tool === undefined ? undefined : kindNamed(tool);
  if (tool !== undefined && kind === undefined)
    problems.push(`there is no tool "${tool}"; nearest: ${nearest(tool, NAMES).slice(0, 3).join(', ')}`);
  if (command !== undefined && kind && kind !== 'any' && kind !== 'command')
    problems.push(`it can never apply: ${tool} runs no command`);
  if (path !== undefined && (kind === 'command' || kind === 'network' || kind === 'delegate'))
    problems.push(`it can never apply: of ${tool} no path is known; name the command instead`);
  if (path !== undefined && command !== undefined)
    problems.push('it can never apply: of a command no path is known');
  if (aboveUsd !== undefined && verdict === 'auto')
    problems.push('it would allow more the more has been spent: above an amount, ask or deny');
  const same = before.findIndex((other) => covers(other, rule));
  if (same >= 0) problems.push(shadowed(same, before[same]?.verdict, verdict));
  return problems;
}

const shadowed = (index: number, first: Verdict | undefined, second: Verdict): string =>
  first === second
    ? `it can never apply: rule ${index + 1} says the same, and more`
    : `it contradicts rule ${index + 1}, which comes first and says ${first} where this says ${second}`;

const NAMES = [...ACTION_KINDS, ...Object.keys(TOOL_KINDS)];

/** What a tool of that name does; `any` for a pattern, undefined for what is no tool at all. */
function kindNamed(tool: string): ActionKind | 'any' | undefined {
  if (tool.includes('*')) return 'any';
  const kind = ACTION_KINDS.find((name) => name === tool);
  if (kind) return kind;
  // What another server brings has a name that nobody knows here.
  if (tool.startsWith('mcp')) return 'any';
  return tool in TOOL_KINDS || /^(?:a2a|orchestrator)_/.test(tool) ? kindOfTool(tool) : undefined;
}

/** Whatever the second applies to, the first applies to: as far as their texts show it. */
function covers(first: PolicyRule, second: PolicyRule): boolean {
  return CONDITIONS.every((key) => {
    const [wide, narrow] = [first[key], second[key]];
    if (wide === undefined || wide === narrow) return true;
    if (narrow === undefined) return false;
    if (typeof wide === 'number' || typeof narrow === 'number') return Number(wide) <= Number(narrow);
    return wide === '*';
  });
}

/** One word about what may be done: of the person, of a repository, of an agent's definition. */
export const PolicyLayer = z.object({
  /** Whose word it is, for people. */
  from: z.string().max(500),
  preset: PolicyPreset,
  rules: z.array(PolicyRule),
});
export type PolicyLayer = z.infer<typeof PolicyLayer>;

/**
 * The words that hold for a task: its own and those of everyone above it, each as it was when the task was made and for
 * the agent it was said of. What is done is what the strictest of them says, so a child is never allowed more.
 */
export const PolicyChain = z.array(z.object({ agent: AgentType, layers: z.array(PolicyLayer) }));
export type PolicyChain = z.infer<typeof PolicyChain>;

/** Exactly what an agent wants to do, and where. */
export const Action = z.object({
  tool: z.string().max(200),
  kind: ActionKind,
  command: z.string().nullable(),
  /** From the root of the worktree, as far as they are known. */
  paths: z.array(z.string()),
  /** Whether something of ours holds it: the sandbox, or the door to the files. */
  held: z.boolean(),
  /** The folder it happens in; null: it has none. */
  where: z.string().nullable(),
  /** What else is worth seeing, bounded: what a file would become. */
  detail: z.string().max(60_000),
  /** Files of the worktree that the command names, as they were: the digest holds for these too. */
  files: z
    .array(
      z.object({
        path: z.string(),
        /** In bytes. */
        size: z.number(),
        sha256: z.string(),
        /** Null: it is no text. */
        text: z.string().nullable(),
        /** `text` is only the beginning. */
        cut: z.boolean(),
      }),
    )
    .optional(),
  /** Words of the command that may stand for more files, of which nothing is known. */
  unknownFiles: z.array(z.string()).optional(),
  /** Of all of it, to the last byte: a leave is for this and nothing else. */
  digest: z.string().min(1).max(200),
});
export type Action = z.infer<typeof Action>;

/** What an agent's definition says: a preset, a list of rules, or both. Without a preset the rules are all it says. */
const Said = {
  preset: PolicyPreset.transform((preset) => ({ preset, rules: [] as PolicyRule[] })),
  rules: PolicyRules.transform((rules) => ({ preset: 'trusting' as const, rules })),
  both: z.strictObject({ preset: PolicyPreset.default('trusting'), rules: PolicyRules.default([]) }),
};

/** As written in a definition; each problem with its place. */
export function parseApprovals(
  given: unknown,
): { readonly approvals: Pick<PolicyLayer, 'preset' | 'rules'> } | { readonly problems: readonly string[] } {
  // The one form that was meant: of a union nobody is told what is wrong with which.
  const shape = typeof given === 'string' ? Said.preset : Array.isArray(given) ? Said.rules : Said.both;
  const parsed = shape.safeParse(given);
  if (parsed.success) return { approvals: parsed.data };
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${['approvals', ...path.map(String)].join('.')}: ${message}`,
  );
  return { problems };
}
