import { readFileSync } from 'node:fs';
import { ERRORS, isReveilleError, nearest } from '@reveille/protocol';
import { UsageError } from './usage.ts';

const HELP = `Reveille runs many coding agents on one repository at once and never loses a result.

  reveille <command> [options]

  demo        a plan run by scripted agents, shown live; needs no key and no model

  --help      this text; reveille <command> --help says more about a command
  --version   the version
`;

type Command = (args: readonly string[]) => Promise<number>;
/** Loaded when it is wanted: the engine and its store are not needed to say what there is. */
const COMMANDS: Readonly<Record<string, Command>> = {
  demo: async (args) => (await import('./demo/command.ts')).demo(args),
};

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    return explain(error);
  }
}

async function run([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const command = name === 'help' && rest[0] ? COMMANDS[rest[0]] : undefined;
    if (command) return command(['--help']);
    process.stdout.write(HELP);
    return 0;
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command) return command(rest);
  const what = name.startsWith('-') ? 'option' : 'command';
  const names = what === 'option' ? ['--help', '--version'] : Object.keys(COMMANDS);
  const [best] = nearest(name, names);
  throw new UsageError(`There is no ${what} "${name.slice(0, 60)}". Did you mean ${best}?`, null);
}

/** One sentence for what a person can do something about; everything for what they cannot. */
function explain(error: unknown): number {
  if (error instanceof UsageError) {
    const help = error.command ? `reveille ${error.command} --help` : 'reveille --help';
    process.stderr.write(`${error.message}\n${help} lists what there is.\n`);
    return 2;
  }
  if (isReveilleError(error)) {
    process.stderr.write(`${error.message}\n`);
    return ERRORS[error.code].exit;
  }
  process.stderr.write(
    `This is a defect of Reveille: ${error instanceof Error ? error.stack : String(error)}\n`,
  );
  return 1;
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
