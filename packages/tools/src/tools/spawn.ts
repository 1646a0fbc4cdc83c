import {
  defuse,
  LENGTHS,
  nextSteps,
  ReveilleError,
  parseAgentType,
  type SpawnInput,
  type SpawnResult,
} from '@reveille/protocol';
import { z } from 'zod';
import { callKey } from '../call-key.ts';
import { budget, withoutWords } from '../schema.ts';
import { ACTS, defineTool, type RunWorld, type ToolOutput } from '../tool.ts';
import { Update, updateOf, updatesText } from '../updates.ts';
import { awaitEnds, whenYouHear } from './waiting.ts';

const subtask = {
  agentType: z
    .string()
    .max(120)
    .optional()
    .describe('`[@][backend:]name`, like "reviewer" or "@claude:coder"; left out: the general agent.'),
  prompt: z
    .string()
    .min(1)
    .max(LENGTHS.prompt)
    .describe(
      'The whole task. The agent knows nothing else: say what is wanted and why, where to look, what is known, what to leave alone.',
    ),
  expectedOutput: z.string().max(LENGTHS.prompt).optional().describe('What its answer must hold.'),
  name: z.string().trim().min(1).max(LENGTHS.name).optional().describe(''),
  model: z.string().max(120).optional().describe('Another than the agent’s own.'),
  targetFiles: z
    .array(z.string().min(1).max(4_096))
    .max(LENGTHS.files)
    .default([])
    .describe('Files it will change, if known.'),
  isolation: z
    .enum(['own', 'shared'])
    .default('own')
    .describe('"own": in a copy of your worktree. "shared": in yours, while you cannot write.'),
  resultSchema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('A JSON schema, without patterns, that its structured result must fit.'),
  budget: budget('Out of your own.'),
  key: z
    .string()
    .min(1)
    .max(LENGTHS.name)
    .optional()
    .describe('The same key again returns the same subtask.'),
};

const Spawned = z.object({
  state: z.enum(['ended', 'needs_you', 'running']),
  taskId: z.string(),
  status: z.string().nullable(),
  updates: z.array(Update),
  warning: z.string().optional(),
});

type Wanted = z.output<z.ZodObject<typeof subtask>>;

export const spawnSubtask = defineTool({
  name: 'a2a_spawn_subtask',
  title: 'Hand a task to another agent',
  description: [
    'Starts another agent on a task and, unless `blocking` is false, waits for its result. It works in a worktree of its own that starts from yours, uncommitted changes included; its changes come back only when you pull them.',
    'Use it when a specialist would do it better, or when it takes much reading of which you need only the answer. Not for a few calls, and not to pass your whole task on.',
    'If your client does not wait so long, you are told that it is running. Do not start it again: its result comes by itself.',
    'Example: {"agentType":"reviewer","prompt":"Review the error handling in src/net/*.ts. Change nothing.","expectedOutput":"Findings with file and line, worst first."}',
  ],
  input: z.strictObject({
    ...subtask,
    blocking: z.boolean().default(true).describe(''),
  }),
  output: Spawned,
  annotations: ACTS,
  async run({ blocking, ...wanted }, world) {
    const input = spawnInput(wanted, world, '');
    if (blocking) world.progress(`waits for ${wanted.agentType ?? 'an agent'}`);
    const { patienceMs, signal, orchestrator } = world;
    const result = await orchestrator.spawnSubtask(input, {
      blocking,
      signal,
      ...(patienceMs === null ? {} : { patienceMs }),
    });
    world.tally?.add('spawns');
    return spawned(result, world, blocking);
  },
});

export const spawnParallelSubtasks = defineTool({
  name: 'a2a_spawn_parallel_subtasks',
  title: 'Hand several tasks to agents at once',
  description: [
    'Starts several agents at once, all or none, and returns their ids. You hear of each end as it comes; a2a_await_subtasks, or `blocking`, waits for them.',
    'For parts that do not depend on each other. Give each its own files where you can: you will have to merge what two of them change in the same lines.',
  ],
  input: z.strictObject({
    subtasks: z
      .array(z.strictObject(withoutWords(subtask)))
      .min(1)
      .max(50)
      .describe('Each as for a2a_spawn_subtask.'),
    blocking: z.boolean().default(false).describe(''),
  }),
  output: z.object({
    subtasks: z.array(
      z.object({ taskId: z.string(), name: z.string().nullable(), warning: z.string().optional() }),
    ),
    open: z.array(z.string()),
    updates: z.array(Update),
  }),
  annotations: ACTS,
  async run({ subtasks, blocking }, world) {
    const inputs = subtasks.map((wanted, i) => spawnInput(wanted, world, `#${i}`));
    const spawns = await world.orchestrator.spawnSubtasks(inputs);
    world.tally?.add('spawns', spawns.length);
    const list = spawns.map((spawn, i) => ({
      taskId: spawn.task,
      name: subtasks[i]?.name ?? null,
      ...(spawn.warning === undefined ? {} : { warning: spawn.warning }),
    }));
    const ids = spawns.map(({ task }) => task);
    const started = `Started ${ids.length}: ${ids.join(', ')}.`;
    const warnings = list.flatMap(({ taskId, warning }) =>
      warning === undefined ? [] : [`Note on ${taskId}: ${defuse(warning)}`],
    );
    if (!blocking) {
      const text = [started, ...warnings, whenYouHear(world)].join('\n');
      return { structured: { subtasks: list, open: ids, updates: [] }, text };
    }
    const ends = await awaitEnds(world, { taskIds: ids, mode: 'all', timeoutMs: null });
    const text = [started, ...warnings, ends.text].join('\n');
    return {
      structured: { subtasks: list, open: ends.structured.open, updates: ends.structured.updates },
      text,
    };
  },
});

/** The protocol's call id is the key unless the caller has one: a call that is made again makes no second child (SUB1). */
function spawnInput(wanted: Wanted, world: RunWorld, part: string): SpawnInput {
  checkDelegate(wanted.agentType, world);
  const key = wanted.key ?? callKey(world, part);
  const given = Object.entries({ ...wanted, key }).filter(([, value]) => value !== undefined);
  // What is left has the types it had: only what was not given is gone.
  return Object.fromEntries(given) as unknown as SpawnInput;
}

/** A definition may name the only agents it hands work to. */
function checkDelegate(agentType: string | undefined, { grants }: RunWorld): void {
  const only = grants?.delegatesTo;
  if (!only) return;
  const name = agentType === undefined ? 'agent' : parseAgentType(agentType, 'any')?.name;
  if (name !== undefined && only.includes(name)) return;
  const whom = only.length > 0 ? `only to ${only.join(', ')}` : 'to nobody';
  throw new ReveilleError('not_allowed', `By your definition you hand work ${whom}.`, {
    data: { known: only },
  });
}

function spawned(result: SpawnResult, world: RunWorld, waited: boolean): ToolOutput<z.input<typeof Spawned>> {
  const { task, state } = result;
  const notes = result.warning === undefined ? [] : [`Note: ${defuse(result.warning)}`];
  const warning = result.warning === undefined ? {} : { warning: result.warning };
  if (state === 'running') {
    const how = waited ? 'is still running' : 'is running';
    return {
      structured: { state, taskId: task, status: null, updates: [], ...warning },
      text: [`${task} ${how}.`, ...notes, whenYouHear(world)].join('\n'),
    };
  }
  const deliveries = state === 'ended' ? (result.delivery ? [result.delivery] : []) : result.deliveries;
  const none = `${task} has ended; you were given its result before. a2a_subtask_status shows it again.`;
  const words = deliveries.length > 0 ? updatesText(deliveries) : none;
  const status = deliveries.find(({ end }) => end)?.end?.status ?? null;
  return {
    structured: { state, taskId: task, status, updates: deliveries.map(updateOf), ...warning },
    text: [words, ...notes, ...nextSteps(deliveries, world.has)].join('\n'),
  };
}
