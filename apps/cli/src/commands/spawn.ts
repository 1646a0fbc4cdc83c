import { text as readAll } from 'node:stream/consumers';
import { relative } from 'node:path';
import {
  ReveilleError,
  isReveilleError,
  parseAgentType,
  type Client,
  type SpawnInput,
  type Spawned,
  type TaskId,
} from '@reveille/protocol';
import { agentsOf } from '../agents.ts';
import { parseBudget } from '../budget-words.ts';
import { beginWork } from '../begin.ts';
import { command, type Call } from '../command/spec.ts';
import type { Io } from '../io.ts';
import { DIRTY, LEFT, startAsWished } from '../dirty.ts';
import { repositoryIfAny, type Repository } from '../repository.ts';
import { say } from '../say.ts';
import type { Seat, SeatOptions } from '../seat.ts';
import { checkSettings } from '../trusted.ts';
import { follow, outcome } from './following.ts';

export const spawn = command({
  name: 'spawn',
  group: 'Work',
  summary: 'gives one task to an agent and shows how it goes',
  usage: '<prompt…>',
  about: `The agent works on the repository you are in, in a worktree of its own. A prompt of - is read from the input.
Ctrl-C leaves, and the task goes on. Exit codes: 0 completed, 1 failed or cancelled, 130 you left.`,
  options: {
    agent: {
      type: 'string',
      short: 'a',
      value: '[BACKEND:]NAME',
      means: 'who does it; reveille agent list has the names',
    },
    name: { type: 'string', value: 'TEXT', means: 'what it is called' },
    model: { type: 'string', value: 'NAME', means: 'the model, in the words of the backend' },
    file: { type: 'list', value: 'PATH', means: 'a file it is about; may be given several times' },
    expect: { type: 'string', value: 'TEXT', means: 'what its report should hold' },
    budget: { type: 'string', value: 'tokens=500k,usd=2', means: 'what it and all below it may use' },
    dirty: DIRTY,
    detach: { type: 'boolean', short: 'd', means: 'start it and return at once' },
  },
  json: 'every event as a line, and last the task as one line: { task, run, worker, end }. With --detach the last line alone.',
  async run(call) {
    const { io, options } = call;
    const input = spawnInput(await promptOf(io, call.args), options);
    const repository = await repositoryIfAny(call);
    if (repository) await checkSettings(io, repository);
    const { client, lastEvent } = await beginWork(call);
    const task = await startAsWished(call, options.dirty, (choice) =>
      spawnHere(call, { client, repository, input: { ...input, ...choice } }),
    );
    if (task === null) return LEFT;
    if (!options.json) io.out.write(`${task}\n`);
    if (!options.detach)
      return outcome(call, await follow(call, client, { task }, { after: lastEvent }), client);
    if (options.json) io.out.write(`${JSON.stringify(await client.getTask(task))}\n`);
    else io.out.write(`It runs; \`reveille attach ${task}\` shows it.\n`);
    return 0;
  },
});

/** From this terminal's own session, which is told how it ends. */
export async function spawnHere(
  { io }: Pick<Call, 'io'>,
  given: { readonly client: Client; readonly repository: Repository | null; readonly input: SpawnInput },
): Promise<TaskId> {
  const { client, repository, input } = given;
  const { placeOf } = await import('@reveille/daemon/connect');
  const seat: SeatOptions = {
    home: placeOf(io.env).home,
    client,
    kind: 'terminal',
    name: 'terminal',
    repository: repository?.top ?? null,
  };
  const { task, warning } = await spawnFrom(seat, input).catch((error: unknown) =>
    explained(io, repository, input, error),
  );
  if (warning !== undefined) say(io.err, `Note: ${warning}`);
  return task;
}

/** One that the repository has and nobody has trusted yet does not count, but it is there. */
async function explained(
  io: Io,
  repository: Repository | null,
  { agentType }: SpawnInput,
  error: unknown,
): Promise<never> {
  if (!isReveilleError(error, 'unknown_agent') || agentType === undefined) throw error;
  using agents = await agentsOf(io, repository);
  const name = parseAgentType(agentType, '')?.name;
  const found = agents
    .list()
    .find(({ definition, state }) => definition.name === name && state === 'untrusted');
  if (!found) throw error;
  const words = `The agent "${name}" of this repository is not trusted yet: look at ${relative(io.cwd, found.definition.path)}, then reveille init.`;
  throw new ReveilleError('unknown_agent', words, { data: error.data, cause: error });
}

/** All words are the prompt; - alone is what is piped in. */
export async function promptOf(io: Io, words: readonly string[]): Promise<string> {
  const text = words.join(' ');
  return text === '-' ? (await readAll(io.in as NodeJS.ReadableStream)).trim() : text;
}

interface SpawnOptions {
  readonly agent: string | undefined;
  readonly name: string | undefined;
  readonly model: string | undefined;
  readonly expect: string | undefined;
  readonly budget: string | undefined;
  readonly file: readonly string[];
}

function spawnInput(prompt: string, options: SpawnOptions): SpawnInput {
  const { agent, name, model, expect, file, budget } = options;
  return {
    prompt,
    targetFiles: [...file],
    ...(agent === undefined ? {} : { agentType: agent }),
    ...(name === undefined ? {} : { name }),
    ...(model === undefined ? {} : { model }),
    ...(expect === undefined ? {} : { expectedOutput: expect }),
    ...(budget === undefined ? {} : { budget: parseBudget(budget, 'spawn') }),
  };
}

/** A session may have so many children in all; a person may go on with another. */
async function spawnFrom(seat: SeatOptions, input: SpawnInput): Promise<Spawned> {
  const { takeNewSeat, takeSeat } = await import('../seat.ts');
  const spawnAt = async ({ client }: Seat): Promise<Spawned> => {
    const spawned = await client.spawnSubtask(input, { blocking: false });
    return spawned.state === 'running' ? spawned : { task: spawned.task };
  };
  try {
    return await spawnAt(await takeSeat(seat));
  } catch (error) {
    if (!isReveilleError(error, 'limit_reached') || error.data['limit'] !== 'children in all') throw error;
    return spawnAt(await takeNewSeat(seat));
  }
}
