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
  const given = new AbortController();
  exchange.response.once('close', () => given.abort());
  if (exchange.response.destroyed) given.abort();
  const made = invoke(engine, caller, name, waits ? withSignal(args, given.signal) : args);
  if (TAKE_MAIL.has(name)) takeBackIfLost(exchange, engine, caller);
  await answerLater(exchange, waits ? made : within(limits.answerMs, made), limits);
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

/** The connection broke before the answer was out: what it held was not received, as far as anybody knows (MBX3). */
function takeBackIfLost({ response, log, id }: Exchange, engine: Engine, caller: Caller): void {
  if (caller.kind !== 'session') return;
  response.once('close', () => {
    if (response.writableFinished) return;
    engine.host.disconnected(caller.session).catch((error: unknown) => {
      log.error('mail of a lost answer could not be queued again', {
        request: id,
        session: caller.session,
        error,
      });
    });
  });
}

function unknownOperation(name: string): ReveilleError {
  const known = nearest(name, HTTP_OPERATION_NAMES).slice(0, 5);
  const words = `There is no operation of that name. Nearest: ${known.join(', ')}.`;
  return new ReveilleError('not_found', words, { data: { known } });
}
