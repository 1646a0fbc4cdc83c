import { LENGTHS, ReveilleError, type CommandEnd, type ToolWorkspace } from '@reveille/protocol';
import { z } from 'zod';
import { CommandLog } from '../command-log.ts';
import { DESTROYS, WORKERS, defineTool, type RunWorld, type ToolOutput } from '../tool.ts';
import { path } from './files.ts';

const timeout = (usual: number) =>
  z.int().min(1_000).max(3_600_000).default(usual).describe('Milliseconds after which it is ended.');

const Ended = z.object({
  exitCode: z.number().nullable().describe('null: it was ended by a signal.'),
  signal: z.string().nullable(),
  timedOut: z.boolean(),
  output: z.string().describe('Both streams in one.'),
});

const ANYTHING = { ...DESTROYS, openWorld: true };

export const runCommand = defineTool({
  name: 'run_command',
  title: 'Run a command',
  description: [
    'Runs a shell command in your worktree, in its sandbox, and gives you its output and exit code. Each call is a new shell at the root of the worktree: chain with && what belongs together.',
    'For builds, git and anything no other tool does. It has no terminal: give flags like -y, --no-pager, and start nothing that runs on.',
    'Example: {"command":"git add -A && git commit -m \\"Parser: accept empty files\\""}',
  ],
  input: z.strictObject({
    command: z.string().min(1).max(LENGTHS.command),
    timeout: timeout(120_000),
  }),
  output: Ended,
  annotations: ANYTHING,
  callers: WORKERS,
  needs: 'workspace',
  run: ({ command, timeout: timeoutMs }, world) => runIn(world, { command, args: [], timeoutMs }),
});

export const runTests = defineTool({
  name: 'run_tests',
  title: 'Run the tests',
  description: [
    'Runs the tests of this repository with its own test command, all of them or those at `paths`, and gives you the output and whether they passed. Run them before you report success, and after you changed what they cover.',
  ],
  input: z.strictObject({
    paths: z.array(path('A test file or folder, as the test command takes it.')).max(200).default([]),
    timeout: timeout(600_000),
  }),
  output: Ended.extend({ passed: z.boolean(), command: z.string() }),
  annotations: ANYTHING,
  callers: WORKERS,
  needs: 'workspace',
  async run({ paths, timeout: timeoutMs }, world) {
    const command = await workspaceOf(world).testCommand();
    if (command === null)
      throw new ReveilleError(
        'wrong_state',
        'No test command is known here. Find out how the tests are run and use run_command.',
      );
    const { structured, text, ...rest } = await runIn(world, { command, args: paths, timeoutMs });
    const passed = structured.exitCode === 0;
    return {
      ...rest,
      structured: { ...structured, passed, command },
      text: `${passed ? 'Passed' : 'NOT passed'} (${command}).\n${text}`,
    };
  },
});

function workspaceOf({ workspace }: RunWorld): ToolWorkspace {
  if (!workspace)
    throw new ReveilleError('wrong_state', 'You have no worktree: your task works on no repository.');
  return workspace;
}

async function runIn(
  world: RunWorld,
  wanted: { command: string; args: readonly string[]; timeoutMs: number },
): Promise<ToolOutput<z.infer<typeof Ended>>> {
  const { command, args, timeoutMs } = wanted;
  const log = new CommandLog();
  const onOutput = (text: string): void => {
    log.add(text);
    world.progress(log.lastLine);
  };
  const end = await workspaceOf(world).runCommand(command, {
    args,
    timeoutMs,
    signal: world.signal,
    onOutput,
  });
  if (world.signal.aborted)
    throw new ReveilleError('aborted', 'The call was given up, and the command was ended.');
  const output = log.text();
  const { exitCode, signal, timedOut } = end;
  const words = output === '' ? '(no output)' : output;
  return {
    structured: { exitCode, signal, timedOut, output },
    text: `${words}\n[${how(end, timeoutMs)}]`,
    show: 'ends',
  };
}

function how({ exitCode, signal, timedOut }: CommandEnd, timeoutMs: number): string {
  if (timedOut) return `ended after ${timeoutMs} ms: it took too long`;
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${exitCode}`;
}
