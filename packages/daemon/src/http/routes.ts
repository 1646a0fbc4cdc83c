import type { Engine } from '@reveille/core';
import {
  GrantInput,
  ReceiptInput,
  ReveilleError,
  SessionId,
  parseInput,
  type Caller,
  type HTTP_ROUTES,
  type Health,
  type Session,
} from '@reveille/protocol';
import { z } from 'zod';
import type { Config } from '../config/schema.ts';
import { sendHealth, sendValue, type Exchange } from './answer.ts';
import type { Attachments } from './attachments.ts';
import { bodyBounds, readJson } from './body.ts';
import type { CredentialedStreams } from './credentialed-streams.ts';
import type { Credentials } from './credentials.ts';
import type { EventStreams } from './event-stream.ts';
import { serveOperation } from './operations.ts';

export type RouteName = keyof typeof HTTP_ROUTES;
interface Asked {
  readonly caller: Caller;
  readonly param: (name: string) => string;
}
type Serve = (exchange: Exchange, asked: Asked) => Promise<void>;
export type Routes = Readonly<Record<RouteName, Serve>>;

interface RouteOptions {
  readonly engine: Engine;
  readonly limits: Config['daemon'];
  readonly credentials: Credentials;
  readonly events: EventStreams;
  readonly attachments: Attachments;
  readonly streams: CredentialedStreams;
  readonly health: () => Promise<Health>;
  readonly rotate: () => void;
  readonly stop: () => void;
  readonly ticket: () => string;
  readonly view: (caller: Caller, name: string, input: unknown) => Promise<unknown>;
}

const Empty = z.strictObject({});
const AttachInput = z.strictObject({ session: SessionId });

/** What each route does for a caller who is known and still counts. */
export function routes(options: RouteOptions): Routes {
  const { engine, limits, credentials, attachments } = options;
  const input = async <S extends z.ZodType>(
    { request }: Exchange,
    { caller }: Asked,
    schema: S,
  ): Promise<z.output<S>> => parseInput(schema, await readJson(request, bodyBounds(limits, caller)));
  return {
    health: async (exchange) => sendHealth(exchange, await options.health()),
    operation: (exchange, { caller, param }) =>
      serveOperation(exchange, { engine, limits, caller, name: param('operation') }),
    events: (exchange, { caller }) => options.events.serve(exchange, caller),
    async attach(exchange, asked) {
      options.streams.keep(exchange);
      const { session } = await input(exchange, asked, AttachInput);
      await attachments.serve(exchange, engine.as(asked.caller), asked.caller, session);
    },
    async receipt(exchange, asked) {
      const receipt = await input(exchange, asked, ReceiptInput);
      attachments.receipt(asked.caller, asked.param('attachment'), receipt);
      sendValue(exchange, null);
    },
    async detach(exchange, asked) {
      await input(exchange, asked, Empty);
      await attachments.detach(asked.caller, asked.param('attachment'));
      sendValue(exchange, null);
    },
    async grant(exchange, asked) {
      const session = await grantedSession(engine, asked.caller, await input(exchange, asked, GrantInput));
      sendValue(exchange, { session, credential: credentials.ofSession(session.id) });
    },
    async rotate(exchange, asked) {
      await input(exchange, asked, Empty);
      options.rotate();
      await options.streams.look();
      sendValue(exchange, null);
    },
    async stop(exchange, asked) {
      await input(exchange, asked, Empty);
      sendValue(exchange, null);
      options.stop();
    },
    async ticket(exchange, asked) {
      await input(exchange, asked, Empty);
      sendValue(exchange, { ticket: options.ticket() });
    },
    async view(exchange, { caller, param }) {
      const query = await readJson(exchange.request, bodyBounds(limits, caller, true));
      sendValue(exchange, await options.view(caller, param('view'), query));
    },
  };
}

async function grantedSession(
  engine: Engine,
  caller: Caller,
  wanted: z.output<typeof GrantInput>,
): Promise<Session> {
  if (!('session' in wanted)) {
    const { kind, name, repository } = wanted;
    return engine.as(caller).openSession(kind, name, repository === undefined ? {} : { repository });
  }
  const row = (await engine.context.store.get('session', wanted.session))?.doc;
  if (!row) throw new ReveilleError('not_found', `There is no session ${wanted.session}.`);
  if (row.task !== null)
    throw new ReveilleError('not_allowed', `${row.id} is a worker; its runs have credentials of their own.`);
  if (row.state === 'ended') throw new ReveilleError('wrong_state', `Session ${row.id} has ended.`);
  return row;
}
