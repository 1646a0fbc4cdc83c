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
import { sendValue, type Exchange } from './answer.ts';
import type { Attachments } from './attachments.ts';
import { readJson } from './body.ts';
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
  const input = async <S extends z.ZodType>({ request }: Exchange, schema: S): Promise<z.output<S>> =>
    parseInput(schema, await readJson(request, limits.bodyBytes));
  return {
    health: async (exchange) => sendValue(exchange, await options.health()),
    operation: (exchange, { caller, param }) =>
      serveOperation(exchange, { engine, limits, caller, name: param('operation') }),
    events: (exchange, { caller }) => options.events.serve(exchange, caller),
    async attach(exchange, { caller }) {
      options.streams.keep(exchange);
      const { session } = await input(exchange, AttachInput);
      await attachments.serve(exchange, engine.as(caller), caller, session);
    },
    async receipt(exchange, { caller, param }) {
      attachments.receipt(caller, param('attachment'), await input(exchange, ReceiptInput));
      sendValue(exchange, null);
    },
    async detach(exchange, { caller, param }) {
      await input(exchange, Empty);
      await attachments.detach(caller, param('attachment'));
      sendValue(exchange, null);
    },
    async grant(exchange, { caller }) {
      const session = await grantedSession(engine, caller, await input(exchange, GrantInput));
      sendValue(exchange, { session, credential: credentials.ofSession(session.id) });
    },
    async rotate(exchange) {
      await input(exchange, Empty);
      options.rotate();
      await options.streams.look();
      sendValue(exchange, null);
    },
    async stop(exchange) {
      await input(exchange, Empty);
      sendValue(exchange, null);
      options.stop();
    },
    async ticket(exchange) {
      await input(exchange, Empty);
      sendValue(exchange, { ticket: options.ticket() });
    },
    async view(exchange, { caller, param }) {
      const asked = await readJson(exchange.request, limits.largeBodyBytes);
      sendValue(exchange, await options.view(caller, param('view'), asked));
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
