import { ERRORS, isReveilleError } from '@reveille/protocol';
import type { Io } from '../io.ts';
import { say } from '../say.ts';
import { UsageError } from '../usage.ts';

interface Explained {
  readonly code: string;
  readonly message: string;
  readonly data: unknown;
  readonly exit: number;
}

/** What went wrong, in words that say what to do, and the exit code for it. */
export async function explain(
  error: unknown,
  io: Pick<Io, 'out' | 'err' | 'env'>,
  json: boolean,
): Promise<number> {
  const { exit, ...words } = explained(await ofTheMachine(error, io), io.env);
  if (json) io.out.write(`${JSON.stringify({ error: words }, null, 2)}\n`);
  else say(io.err, words.message);
  return exit;
}

/** A disk that is full, or a system that has no room for another file, is no defect of ours. */
async function ofTheMachine(error: unknown, { env }: Pick<Io, 'env'>): Promise<unknown> {
  if (isReveilleError(error) || error instanceof UsageError || !(error instanceof Error)) return error;
  const { inWords, placeOf } = await import('@reveille/daemon/connect');
  return inWords(error, 'path' in error && typeof error.path === 'string' ? error.path : placeOf(env).home);
}

function explained(error: unknown, env: NodeJS.ProcessEnv): Explained {
  if (error instanceof UsageError) {
    const help = error.command ? `reveille ${error.command} --help` : 'reveille --help';
    const message = `${error.message}\n${help} lists what there is.`;
    return { code: 'invalid_input', message, data: {}, exit: ERRORS.invalid_input.exit };
  }
  if (isReveilleError(error)) {
    const { code, message, data } = error;
    return { code, message, data, exit: ERRORS[code].exit };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  const where = env['REVEILLE_DEBUG'] ? `\n${stack ?? ''}` : ' Set REVEILLE_DEBUG=1 to see where.';
  const what = error instanceof Error ? error.message : String(error);
  const message = `This is a defect of Reveille: ${what.trimEnd().replace(/\.$/, '')}.${where}`;
  return { code: 'internal', message, data: {}, exit: ERRORS.internal.exit };
}
