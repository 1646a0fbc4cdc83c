import type { Engine } from '@reveille/core';
import {
  HTTP_OPERATIONS,
  HTTP_OPERATION_NAMES,
  ReveilleError,
  isHttpOperation,
  nearest,
  parseArguments,
  type Caller,
  type HttpContract,
  type HttpOperation,
} from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Exchange } from './answer.ts';
import { readJson } from './body.ts';
import { checkCounts } from './door.ts';
import { answerLater, within } from './waiting.ts';

/** Operations whose answer may hold mail that was taken for it. */
const TAKE_MAIL: ReadonlySet<HttpOperation> = new Set(['spawnSubtask', 'awaitSubtasks', 'checkUpdates']);

export interface OperationCall {
  readonly engine: Engine;
  readonly limits: Config['daemon'];
  readonly caller: Caller;
  readonly name: string;
}

/** One operation of the Orchestrator, for whoever the credential names. */
export async function serveOperation(exchange: Exchange, call: OperationCall): Promise<void> {
  const { engine, limits, caller, name } = call;
  if (!isHttpOperation(name)) throw unknownOperation(name);
  const { large, waits }: HttpContract = HTTP_OPERATIONS[name];
  await checkCounts(engine, caller, name);
  const body = await readJson(exchange.request, large ? limits.largeBodyBytes : limits.bodyBytes);
  const args = parseArguments(name, body);
  const gone = goneSignal(exchange);
  const made = invoke(engine, caller, name, waits ? withSignal(args, gone) : args);
  const safe = TAKE_MAIL.has(name) ? takingBack(exchange, { engine, caller, gone }, made) : made;
  await answerLater(exchange, waits ? safe : within(limits.answerMs, safe), limits);
}

/** Aborted as soon as the caller is known to be gone: when its side ends, which is before the connection is closed. */
function goneSignal({ request: { socket }, response }: Exchange): AbortSignal {
  const gone = new AbortController();
  const abort = (): void => gone.abort();
  socket.once('end', abort);
  response.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  if (response.destroyed || socket.readableEnded) abort();
  return gone.signal;
}

/** The names come from the table, whose type demands exactly those of the interface. */
function invoke(engine: Engine, caller: Caller, name: HttpOperation, args: unknown[]): Promise<unknown> {
  const orchestrator = engine.as(caller);
  const operation = orchestrator[name] as (...given: unknown[]) => Promise<unknown>;
  return operation.apply(orchestrator, args);
}

function withSignal([input, options]: readonly unknown[], signal: AbortSignal): unknown[] {
  return [input, { ...(options as object | undefined), signal }];
}

interface Taking {
  readonly engine: Engine;
  readonly caller: Caller;
  readonly gone: AbortSignal;
}

/** If the answer does not get out, what it holds was not received, as far as anybody knows, and is queued again (MBX3). */
async function takingBack(exchange: Exchange, taking: Taking, made: Promise<unknown>): Promise<unknown> {
  const { engine, caller, gone } = taking;
  const { response, log, id } = exchange;
  const value = await made;
  if (caller.kind !== 'session') return value;
  const takeBack = async (): Promise<void> => {
    try {
      await engine.host.disconnected(caller.session);
    } catch (error) {
      const data = { request: id, session: caller.session, error };
      log.error('mail of a lost answer could not be queued again', data);
    }
  };
  if (gone.aborted) await takeBack();
  else response.once('close', () => void (response.writableFinished ? undefined : takeBack()));
  return value;
}

function unknownOperation(name: string): ReveilleError {
  const known = nearest(name, HTTP_OPERATION_NAMES).slice(0, 5);
  const words = `There is no operation of that name. Nearest: ${known.join(', ')}.`;
  return new ReveilleError('not_found', words, { data: { known } });
}
