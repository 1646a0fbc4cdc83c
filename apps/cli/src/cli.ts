import { likely } from '@reveille/protocol';
import { explain } from './command/explain.ts';
import { helpOf, overview } from './command/help.ts';
import { parseCall } from './command/parse.ts';
import type { Command } from './command/spec.ts';
import { COMMANDS } from './commands/table.ts';
import type { Io } from './io.ts';
import { UsageError } from './usage.ts';
import { version } from './version.ts';

/** Runs one command line. Answers with the exit code; whatever goes wrong was said. */
export async function cli(args: readonly string[], io: Io): Promise<number> {
  try {
    return await run(forward(args), io);
  } catch (error) {
    return await explain(error, io, args.includes('--json'));
  }
}

async function run(args: readonly string[], io: Io): Promise<number> {
  const [name] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return help(args.slice(1), io);
  if (name === '--version' || name === '-v') {
    io.out.write(`${version()}\n`);
    return 0;
  }
  if (name.startsWith('-')) throw unknown('option', name, ['--help', '--version']);
  const { command, rest } = find(args);
  if (!command) return helpOfGroup(name, rest, io);
  if (command.byItself) return command.byItself(rest);
  const call = parseCall(command, rest, io);
  if (call.options.help) {
    io.out.write(helpOf(command));
    return 0;
  }
  return (await command.run(call)) ?? 0;
}

/** `reveille --json status` is `reveille status --json`. */
function forward(args: readonly string[]): string[] {
  const front: string[] = [];
  const rest = [...args];
  for (;;) {
    const [next = ''] = rest;
    if (next === '--repo') front.push(...rest.splice(0, 2));
    else if (next === '--json' || next.startsWith('--repo=')) front.push(...rest.splice(0, 1));
    else break;
  }
  if (rest.length === 0) return rest;
  const dashes = rest.indexOf('--');
  return dashes === -1 ? [...rest, ...front] : [...rest.slice(0, dashes), ...front, ...rest.slice(dashes)];
}

interface Found {
  /** Undefined: the name is of a group, such as `plan`, and what is to be done was not said. */
  readonly command: Command | undefined;
  readonly rest: readonly string[];
}

function find([name = '', verb, ...rest]: readonly string[]): Found {
  const after = verb === undefined ? [] : [verb, ...rest];
  const plain = COMMANDS.find((command) => command.name === name);
  if (plain) return { command: plain, rest: after };
  const members = COMMANDS.filter((command) => command.name.startsWith(`${name} `));
  if (members.length === 0) throw unknown('command', name, topNames());
  if (verb === undefined || verb.startsWith('-')) return { command: undefined, rest: after };
  const command = members.find((member) => member.name === `${name} ${verb}`);
  if (command) return { command, rest };
  throw unknown(
    'command',
    `${name} ${verb}`,
    members.map((member) => member.name),
  );
}

/** `plan`, `agent` and the like count once. */
const topNames = (): string[] => [...new Set(COMMANDS.map(({ name }) => name.split(' ', 1)[0] ?? name))];

async function help(about: readonly string[], io: Io): Promise<number> {
  const [name] = about;
  if (name === undefined || name.startsWith('-')) {
    io.out.write(overview(COMMANDS));
    return 0;
  }
  return run([...about.slice(0, 2), '--help'], io);
}

function helpOfGroup(name: string, rest: readonly string[], io: Io): number {
  const members = COMMANDS.filter((command) => command.name.startsWith(`${name} `));
  const calls = members.map((command) => `  reveille ${command.name} ${command.usage}`.trimEnd());
  const widest = Math.max(...calls.map((call) => call.length));
  const lines = members.map(({ summary }, i) => `${(calls[i] ?? '').padEnd(widest)}  ${summary}`);
  if (!rest.includes('--help') && !rest.includes('-h')) {
    const verbs = members.map((command) => command.name.slice(name.length + 1)).join(', ');
    throw new UsageError(`Say what to do with it: reveille ${name} takes ${verbs}.`, name);
  }
  io.out.write(`${lines.join('\n')}\n`);
  return 0;
}

function unknown(what: string, given: string, names: readonly string[]): UsageError {
  const best = likely(given, names);
  const hint = best === undefined ? '' : ` Did you mean ${best}?`;
  return new UsageError(`There is no ${what} "${given.slice(0, 60)}".${hint}`, null);
}
