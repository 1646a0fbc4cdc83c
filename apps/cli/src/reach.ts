import type { Client } from '@reveille/protocol';
import { paintFor, type Paint } from './ansi.ts';
import type { Call } from './command/spec.ts';
import { say } from './say.ts';

type Asking = Pick<Call, 'io'>;

/** This user's daemon, which is started if need be. */
export async function reach({ io }: Asking): Promise<Client> {
  const { connect } = await import('@reveille/daemon/connect');
  return connect({ env: io.env });
}

export const paintOf = ({ io }: Asking): Paint => paintFor(io.out, io.env);

/** Lines for a person, or the value for a program. */
export function print(
  { io, options }: Pick<Call, 'io'> & { readonly options: { readonly json: boolean } },
  value: unknown,
  lines: () => readonly string[],
): void {
  if (options.json) return printJson({ io }, value);
  for (const text of lines()) say(io.out, text);
}

export function printJson({ io }: Asking, value: unknown): void {
  io.out.write(`${JSON.stringify(value, null, 2)}\n`);
}
