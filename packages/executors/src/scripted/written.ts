import { ErrorClass, LENGTHS, ReveilleError, SpawnInput, parseInput } from '@reveille/protocol';
import { z } from 'zod';

/**
 * A script as data: it can ride in the prompt of a task, in a fenced block, so that a plan or a parent says what its
 * agents do.
 *
 *     ```reveille-script
 *     { "steps": [{ "do": "say", "text": "Looking." }, { "do": "work", "ms": 300 }, { "do": "report", "output": "Done." }] }
 *     ```
 *
 * `steps` are done once, in order. A turn ends with the last of them, with `rest` or `ask` (which go on in a later
 * turn), or with a report. In a turn after they are all done, `onTurn` has the steps by the turn's number, else
 * `whenWoken` has them; without either, the agent answers what it is asked and reports. Any step with `attempt` is
 * done only in that run of the task, so that a first attempt can fail and the next succeed.
 *
 * `review` has the steps of whoever reviews its work, by round; the last of them hold for every later one. A scripted
 * reviewer for whom nothing is written approves.
 */
const text = z.string().max(LENGTHS.text);
const ms = z.number().min(0).max(86_400_000);
const only = { attempt: z.number().int().positive().optional() };
const status = z.enum(['success', 'partial', 'failed']).default('success');

/** What is spawned, and what its agent does: a script again, which TypeScript cannot say of itself. */
const Child = z.strictObject({
  ...SpawnInput.shape,
  script: z.lazy((): z.ZodType => WrittenScript).optional(),
});

const Step = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('say'), text, ...only }),
  z.strictObject({ do: z.literal('work'), ms, ...only }),
  /** With content, the file is written into its checkout; otherwise it only says that it touched it. */
  z.strictObject({ do: z.literal('edit'), path: z.string().max(4_096), content: text.optional(), ...only }),
  z.strictObject({
    do: z.literal('use'),
    tokens: z.number().default(0),
    usd: z.number().default(0),
    ...only,
  }),
  /** Any other operation of the orchestrator, with its arguments. */
  z.strictObject({
    do: z.literal('call'),
    operation: z.string(),
    args: z.array(z.unknown()).default([]),
    ...only,
  }),
  /** Children that run by themselves; the agent is woken when one ends. */
  z.strictObject({ do: z.literal('spawn'), tasks: z.array(Child).min(1), ...only }),
  /** Spawns so often, as fast as it can and whatever it is told, and tells its parent how many were refused. */
  z.strictObject({
    do: z.literal('storm'),
    task: Child,
    times: z.number().int().positive().max(1_000_000),
    ...only,
  }),
  /** One child, waited for in the call. */
  z.strictObject({ do: z.literal('delegate'), task: Child, patienceMs: ms.optional(), ...only }),
  /** Waits in a call for its children. What they ask meanwhile is answered. */
  z.strictObject({
    do: z.literal('wait'),
    mode: z.enum(['all', 'any']).default('all'),
    timeoutMs: ms.default(300_000),
    ...only,
  }),
  z.strictObject({ do: z.literal('check'), ...only }),
  /** Merges what its completed children made into its own checkout; a conflict fails it. */
  z.strictObject({ do: z.literal('pull'), ...only }),
  /** Tries again the children it was told have failed, each at most so often; first, if there are any, it thinks. */
  z.strictObject({
    do: z.literal('retry'),
    max: z.number().int().positive().default(3),
    say: text.optional(),
    afterMs: ms.default(0),
    ...only,
  }),
  /** Answers the questions it was asked. */
  z.strictObject({ do: z.literal('answer'), text, ...only }),
  z.strictObject({ do: z.literal('ask'), text, options: z.array(z.string()).default([]), ...only }),
  z.strictObject({
    do: z.literal('notify'),
    type: z.enum(['progress', 'info', 'error']).default('progress'),
    text,
    ...only,
  }),
  z.strictObject({ do: z.literal('rest'), ...only }),
  /** Refused because children are open, it ends the turn; refused because of ends it has not read, it reads them. */
  z.strictObject({
    do: z.literal('report'),
    status,
    output: text.default('Done.'),
    structured: z.json().optional(),
    ...only,
  }),
  z.strictObject({ do: z.literal('reportTwice'), status, output: text.default('Done.'), ...only }),
  /** A report that comes so long after it was stopped. */
  z.strictObject({
    do: z.literal('reportLate'),
    status,
    output: text.default('Done.'),
    afterMs: ms.default(0),
    ...only,
  }),
  z.strictObject({
    do: z.literal('fail'),
    class: ErrorClass.default('unknown'),
    message: text.default('failed'),
    ...only,
  }),
  z.strictObject({ do: z.literal('crash'), detail: text.default('killed'), ...only }),
  z.strictObject({ do: z.literal('silent'), ...only }),
  z.strictObject({ do: z.literal('ignoreAbort'), ...only }),
]);
export type Step = z.input<typeof Step>;
export type ParsedStep = z.infer<typeof Step>;

const Steps = z.array(Step).max(10_000);
const WrittenScript = z.strictObject({
  steps: Steps.default([]),
  onTurn: z.record(z.string().regex(/^[1-9]\d*$/), Steps).optional(),
  whenWoken: Steps.optional(),
  review: z.array(Steps).min(1).max(20).optional(),
});
export type WrittenScript = z.input<typeof WrittenScript>;
export type ParsedScript = z.infer<typeof WrittenScript>;

const BLOCK = /```reveille-script\n([\s\S]*?)\n```/;

/** The prompt with the script in it. Compact JSON holds no line break, so it cannot close its own fence. */
export function withScript(prompt: string, script: WrittenScript): string {
  return `${prompt}\n\n\`\`\`reveille-script\n${JSON.stringify(script)}\n\`\`\``;
}

/** The script in a prompt; undefined if it has none. */
export function scriptInPrompt(prompt: string): ParsedScript | undefined {
  const json = prompt.includes('```reveille-script') ? BLOCK.exec(prompt)?.[1] : undefined;
  return json === undefined ? undefined : parseScript(fromJson(json));
}

/** What a reviewer does: as the script of the task that it reviews says, which its own prompt quotes line by line. */
export function reviewInPrompt(prompt: string, round: number): ParsedScript {
  const quoted = prompt.split('\n').flatMap((line) => (line.startsWith('> ') ? [line.slice(2)] : []));
  const rounds = scriptInPrompt(quoted.join('\n'))?.review ?? [];
  return parseScript({ steps: rounds[round - 1] ?? rounds.at(-1) ?? [APPROVES] });
}

const APPROVES: Step = { do: 'report', output: 'Approved.', structured: { verdict: 'approve' } };

export const parseScript = (script: unknown): ParsedScript => parseInput(WrittenScript, script);

function fromJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new ReveilleError('invalid_input', `The script is not JSON: ${String(cause)}`, { cause });
  }
}
