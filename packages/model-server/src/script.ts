import { z } from 'zod';

/**
 * What a model says and does, as data. It rides in a prompt, in a fenced block, so that one server plays any number of
 * agents at once and needs to remember none of them:
 *
 *     ```reveille-model
 *     { "steps": [{ "say": "Looking.", "call": "read_file", "input": { "path": "a.ts" } }, { "say": "Done." }] }
 *     ```
 *
 * A step is one answer of the model. Answers that call tools go on with the turn, others end it; after the last step the
 * model says "Done.". When the turn had ended and new words come (mail), the first section of `onMail` whose `when` is
 * found in them is played from its beginning; if none is, `steps` go on where they were.
 */

/** How a model can fail. `refusal` is an answer that refuses; `broken_stream` breaks off in the middle of one. */
export const FAILURES = [
  'rate_limit',
  'overload',
  'server',
  'auth',
  'unknown_model',
  'context_too_long',
  'refusal',
  'network',
  'broken_stream',
  'hang',
] as const;
export type Failure = (typeof FAILURES)[number];

const text = z.string().max(1_000_000);
const ms = z.number().min(0).max(3_600_000);
const count = z.number().int().min(0).max(1_000_000_000);
const input = z.record(z.string(), z.unknown());

const Step = z.strictObject({
  think: text.optional(),
  say: text.optional(),
  /** A tool by its name or the end of it: vendors put their own words before ours. */
  call: z.string().min(1).max(200).optional(),
  input: input.default({}),
  /** Several at once. */
  calls: z
    .array(z.strictObject({ call: z.string().min(1).max(200), input: input.default({}) }))
    .max(100)
    .default([]),
  /** This answer so often; once unless told, or as long as `until` says. */
  repeat: z.union([z.number().int().min(1), z.literal('forever')]).optional(),
  /** This answer again and again until words or results with this text have come; none if they have already. */
  until: z.string().min(1).max(1_000).optional(),
  /** Answers when the server's owner releases this name. */
  hold: z.string().min(1).max(200).optional(),
  waitMs: ms.default(0),
  /** Between two pieces of a stream. */
  chunkMs: ms.default(0),
  usage: z
    .strictObject({ input: count.optional(), output: count.optional(), cached: count.optional() })
    .default({}),
  /** The answer was cut because it was too long. */
  cut: z.boolean().default(false),
  /** Nothing at all, as some models do. */
  empty: z.boolean().default(false),
  fail: z.enum(FAILURES).optional(),
  /** How often it fails or is empty before the next step is played; an empty answer is given once unless told. */
  times: z.number().int().min(1).optional(),
  retryAfterS: z.number().min(0).max(86_400).optional(),
});
export type ParsedStep = z.infer<typeof Step>;
export type ModelStep = z.input<typeof Step>;

const Steps = z.array(Step).max(10_000);
const Script = z.strictObject({
  steps: Steps.default([]),
  onMail: z.array(z.strictObject({ when: z.string().max(1_000).default(''), steps: Steps })).default([]),
  /** It says which tools it would call, and calls none. */
  ignoreTools: z.boolean().default(false),
  /** Plays for requests that offer no tools, too. Otherwise those are taken for titles, summaries and the like. */
  toolless: z.boolean().default(false),
});
export type ModelScript = z.input<typeof Script>;
export type ParsedScript = z.infer<typeof Script>;

const BLOCK = /^```reveille-model\n([\s\S]*?)\n```$/gm;

/** The prompt with the script in it. Compact JSON holds no line break, so it cannot close its own fence. */
export function withModelScript(prompt: string, script: ModelScript): string {
  return `${prompt}\n\n\`\`\`reveille-model\n${JSON.stringify(script)}\n\`\`\``;
}

/** The last script in a text; a string says what is wrong with it. */
export function scriptIn(said: string): ParsedScript | string | undefined {
  if (!said.includes('```reveille-model')) return undefined;
  const json = [...said.matchAll(BLOCK)].at(-1)?.[1];
  if (json === undefined) return undefined;
  try {
    const parsed = Script.safeParse(JSON.parse(json));
    if (parsed.success) return parsed.data;
    return `The script is wrong: ${z.prettifyError(parsed.error)}`;
  } catch (error) {
    return `The script is not JSON: ${String(error)}`;
  }
}

/** What stands in a text after its last script. */
export function afterScript(said: string): string {
  const last = [...said.matchAll(BLOCK)].at(-1);
  return last ? said.slice(last.index + last[0].length) : '';
}
