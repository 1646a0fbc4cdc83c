import { parseArgs, type ParseArgsConfig } from 'node:util';
import { likely } from '@reveille/protocol';
import type { Io } from '../io.ts';
import { UsageError } from '../usage.ts';
import { COMMON, arity, type Call, type Command, type OptionSpec } from './spec.ts';

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];
type OptionToken = Extract<Token, { kind: 'option' }>;

/** What was written, as the command takes it, or a sentence that says what to write instead. */
export function parseCall(command: Command, args: readonly string[], io: Io): Call {
  const known: Record<string, OptionSpec> = { ...command.options, ...COMMON };
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries(Object.entries(known).map(([name, spec]) => [name, configOf(spec)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, boolean | string | string[]>();
  for (const [name, { type }] of Object.entries(known)) {
    if (type !== 'string') values.set(name, type === 'list' ? [] : false);
  }
  for (const token of tokens) {
    if (token.kind === 'option') take(values, token, known, command.name);
  }
  if (!values.get('help')) checkCount(command, positionals.length);
  // Filled by the table of this very command: the names and the types are those of its options.
  const options = Object.fromEntries(values) as Call['options'];
  return { io, command: command.name, args: positionals, options };
}

function configOf({ type, short }: OptionSpec): NonNullable<ParseArgsConfig['options']>[string] {
  const kind = type === 'boolean' ? 'boolean' : 'string';
  return { type: kind, multiple: true, ...(short === undefined ? {} : { short }) };
}

function take(
  values: Map<string, boolean | string | string[]>,
  { name, rawName, value, inlineValue }: OptionToken,
  known: Readonly<Record<string, OptionSpec>>,
  command: string,
): void {
  const spec = Object.hasOwn(known, name) ? known[name] : undefined;
  if (!spec) {
    const best = likely(name, Object.keys(known));
    const hint =
      best === undefined ? ' If it is not an option, put -- before it.' : ` Did you mean --${best}?`;
    throw new UsageError(`There is no option "${rawName.slice(0, 60)}".${hint}`, command);
  }
  if (spec.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value.`, command);
    values.set(name, true);
    return;
  }
  // The next word was taken for its value, but is an option itself.
  const swallowed = inlineValue === false && /^-./.test(value ?? '');
  if (value === undefined || value === '' || swallowed)
    throw new UsageError(`${rawName} needs a value: --${name} ${spec.value ?? 'VALUE'}.`, command);
  const before = values.get(name);
  if (Array.isArray(before)) before.push(value);
  else if (before !== undefined) throw new UsageError(`--${name} is given twice.`, command);
  else values.set(name, value);
}

function checkCount({ name, usage }: Command, given: number): void {
  const { least, most } = arity(usage);
  if (given >= least && given <= most) return;
  const what = given < least ? 'Something is missing' : 'That is more than it takes';
  throw new UsageError(`${what}: reveille ${name} ${usage}`.trimEnd(), name);
}
