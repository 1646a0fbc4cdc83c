import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Engine } from '@reveille/core';
import { HTTP_ROUTES, ReveilleError, type Caller, type Health } from '@reveille/protocol';
import { Hono } from 'hono';
import type { Config } from '../config/schema.ts';
import type { Mount } from '../compose/parts.ts';
import type { EventFeed } from '../events/feed.ts';
import type { Log } from '../log/log.ts';
import { sendError, type Exchange } from './answer.ts';
import { Attachments } from './attachments.ts';
import { pageDoor } from '../dashboard/door.ts';
import type { DashboardFiles } from '../dashboard/files.ts';
import type { Pages } from '../dashboard/pages.ts';
import type { Credentials } from './credentials.ts';
import { CredentialedStreams } from './credentialed-streams.ts';
import { authorizeRoute, checkProtocol, identify } from './door.ts';
import { EventStreams } from './event-stream.ts';
import { routes, type RouteName, type Routes } from './routes.ts';

export interface AppOptions {
  readonly engine: Engine;
  readonly feed: EventFeed;
  readonly credentials: Credentials;
  readonly limits: Config['daemon'];
  readonly log: Log;
  readonly mounts: readonly Mount[];
  readonly health: () => Promise<Health>;
  /** The engine no longer answers. */
  readonly isStopping: () => boolean;
  readonly rotate: () => void;
  readonly stop: () => void;
  readonly pages: Pages;
  readonly files: DashboardFiles;
  readonly view: (caller: Caller, name: string, input: unknown) => Promise<unknown>;
}

type Env = {
  Bindings: HttpBindings & { readonly exchange: Exchange };
  Variables: { caller: Caller };
};

export interface App {
  readonly hono: Hono<Env>;
  /** Tells every open stream that there is no more to come. */
  endStreams(): Promise<void>;
}

/** The routes. Nothing is served to whom nobody knows, not even that there is nothing. */
export function createApp(options: AppOptions): App {
  const { limits } = options;
  const streams = new CredentialedStreams(options);
  const events = new EventStreams({
    feed: options.feed,
    limits,
    visible: (caller, first, last) => options.engine.visibleEvents(caller, first, last),
    credentialed: streams,
  });
  const attachments = new Attachments(limits);
  const hono = new Hono<Env>();
  hono.onError((error, c) => {
    sendError(c.env.exchange, error);
    return RESPONSE_ALREADY_SENT;
  });
  hono.notFound(() => {
    throw new ReveilleError('not_found', 'There is nothing here.');
  });
  pageDoor(hono, { files: options.files, pages: options.pages, now: () => Date.now() });
  hono.use('*', async (c, next) => {
    c.set('caller', identify(options.credentials, c.env.incoming));
    checkProtocol(c.env.incoming);
    const lost = c.env.exchange.lost();
    if (lost && c.req.path !== HTTP_ROUTES.health.path) throw lost;
    if (options.isStopping() && c.req.path !== HTTP_ROUTES.health.path)
      throw new ReveilleError('stopping', 'The daemon is stopping. Make the call again in a moment.');
    await next();
  });
  register(
    hono,
    options,
    routes({
      ...options,
      events,
      attachments,
      streams,
      ticket: () => options.pages.ticket(Date.now()),
    }),
  );
  for (const mount of options.mounts) mountAt(hono, options, streams, mount);
  return {
    hono,
    async endStreams() {
      streams.stop();
      events.stop();
      attachments.stop();
      for (const { close, path } of options.mounts) {
        await close?.().catch((error: unknown) =>
          options.log.error('a mount did not close', { path, error }),
        );
      }
    },
  };
}

function register(hono: Hono<Env>, { engine }: AppOptions, served: Routes): void {
  for (const [key, { method, path }] of Object.entries(HTTP_ROUTES)) {
    // The keys of a literal object are the keys of its type.
    const name = key as RouteName;
    const serve = served[name];
    hono.on(method, path, async (c) => {
      const { caller } = c.var;
      // An operation is authorised by its own row, when its arguments are known.
      if (name !== 'operation') await authorizeRoute(engine, caller, `http.${name}`, c.env.incoming);
      await serve(c.env.exchange, { caller, param: (key) => c.req.param(key) ?? '' });
      return RESPONSE_ALREADY_SENT;
    });
  }
}

/** The 2026 era of MCP listens by a call. Its clients name the method in a header too, and are refused if the body names another. */
const METHOD_HEADER = 'mcp-method';
const LISTEN = 'subscriptions/listen';

/** What another room serves, for callers that are known and still count. */
function mountAt(
  hono: Hono<Env>,
  { engine }: AppOptions,
  streams: CredentialedStreams,
  { path, handle }: Mount,
): void {
  hono.all(path, async (c) => {
    await authorizeRoute(engine, c.var.caller, 'http.mcp', c.env.incoming);
    // A stream that listens lasts as long as its credential. An answer may come after: a report ends its own run.
    if (c.req.method === 'GET' || c.req.header(METHOD_HEADER) === LISTEN) streams.keep(c.env.exchange);
    const answered = new Promise<void>((resolve) => c.env.outgoing.once('finish', () => resolve()));
    return handle(c.req.raw, c.var.caller, answered);
  });
}
