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
  type Orchestrator,
} from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Exchange } from './answer.ts';
import { bodyBounds, readJson } from './body.ts';
import { checkCounts } from './door.ts';
import { answerLater, within } from './waiting.ts';

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
  const body = await readJson(exchange.request, bodyBounds(limits, caller, large));
  const args = parseArguments(name, body);
  const gone = goneSignal(exchange);
  const { orchestrator, answered, lost } = engine.exchange(caller);
  const made = invoke(orchestrator, name, waits ? withSignal(args, gone) : args);
  const safe = takingBack(exchange, { answered, lost, gone }, made);
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
function invoke(orchestrator: Orchestrator, name: HttpOperation, args: unknown[]): Promise<unknown> {
  const operation = orchestrator[name] as (...given: unknown[]) => Promise<unknown>;
  return operation.apply(orchestrator, args);
}

function withSignal([input, options]: readonly unknown[], signal: AbortSignal): unknown[] {
  return [input, { ...(options as object | undefined), signal }];
}

interface Taking {
  readonly answered: () => void;
  readonly lost: () => Promise<void>;
  readonly gone: AbortSignal;
}

/**
 * If the answer does not get out, what it holds was not received, as far as anybody knows, and is queued again (MBX3).
 * Until it is out, no other call proves anything about it (WAK9).
 */
async function takingBack<T>({ response, log, id }: Exchange, taking: Taking, made: Promise<T>): Promise<T> {
  const { answered, lost, gone } = taking;
  const value = await made;
  const takeBack = (): Promise<void> =>
    lost().catch((error: unknown) =>
      log.error('mail of a lost answer could not be queued again', { request: id, error }),
    );
  if (gone.aborted) await takeBack();
  else {
    response.once('finish', answered);
    response.once('close', () => void (response.writableFinished ? undefined : takeBack()));
  }
  return value;
}

function unknownOperation(name: string): ReveilleError {
  const known = nearest(name, HTTP_OPERATION_NAMES).slice(0, 5);
  const words = `There is no operation of that name. Nearest: ${known.join(', ')}.`;
  return new ReveilleError('not_found', words, { data: { known } });
}
