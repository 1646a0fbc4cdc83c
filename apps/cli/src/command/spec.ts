import type { Io } from '../io.ts';

export interface OptionSpec {
  /** `list`: may be given several times. */
  readonly type: 'boolean' | 'string' | 'list';
  readonly short?: string;
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly means: string;
}
export type Options = Readonly<Record<string, OptionSpec>>;

type ValueOf<O extends OptionSpec> = O['type'] extends 'boolean'
  ? boolean
  : O['type'] extends 'list'
    ? readonly string[]
    : string | undefined;
export type Values<O extends Options> = { readonly [K in keyof O]: ValueOf<O[K]> };

/** Every command has these. */
export const COMMON = {
  json: { type: 'boolean', means: 'print JSON, in the shape below' },
  repo: {
    type: 'string',
    value: 'FOLDER',
    means: 'the repository it is about, instead of the one you are in',
  },
  help: { type: 'boolean', short: 'h', means: 'this text' },
} as const satisfies Options;

/** A command line that was understood. */
export interface Call<O extends Options = Options> {
  readonly io: Io;
  /** The name of the command: `plan run`. */
  readonly command: string;
  /** What is no option, in order. */
  readonly args: readonly string[];
  readonly options: Values<O> & Values<typeof COMMON>;
}

export interface CommandSpec<O extends Options> {
  /** `status`, or `plan run`. */
  readonly name: string;
  readonly group: string;
  /** One line, for the list of all commands. */
  readonly summary: string;
  /** `<task> <message…>`: angle brackets for what must be given, square ones for what may. */
  readonly usage: string;
  /** What more there is to know. */
  readonly about: string;
  readonly options: O;
  /** What `--json` prints. */
  readonly json: string;
  /** The exit code; nothing is 0. */
  readonly run: (call: Call<O>) => Promise<number | void>;
  /** Instead: it reads its own arguments and speaks for itself. */
  readonly byItself?: (args: readonly string[]) => Promise<number>;
}
export type Command = CommandSpec<Options>;

/** A command as the table has it: its own options are known to itself alone. */
export const command = <const O extends Options>(spec: CommandSpec<O>): Command => spec as unknown as Command;

/** How many arguments a usage asks for, and how many it takes. */
export function arity(usage: string): { least: number; most: number } {
  const words = usage.match(/[<[][^>\]]*[>\]]/g) ?? [];
  const least = words.filter((word) => word.startsWith('<')).length;
  return { least, most: words.some((word) => word.includes('…')) ? Infinity : words.length };
}
