import type { SessionId } from '../ids.ts';
import type { Orchestrator, Receiver } from '../orchestrator.ts';
import type { ReveilleEvent } from '../event.ts';
import { parseInput } from '../parse.ts';
import { attach } from './attach.ts';
import { Grant, GrantInput, HTTP_ROUTES, Health } from './contract.ts';
import { follow, type FollowOptions } from './follow.ts';
import {
  HTTP_OPERATIONS,
  HTTP_OPERATION_NAMES,
  type HttpContract,
  type HttpOperation,
} from './operations.ts';
import { Turnstile, ask, type Endpoint, type Link } from './request.ts';
import { Ticket, VIEWS, type Views } from './views.ts';

export interface ClientOptions extends Endpoint {
  readonly fetch?: typeof globalThis.fetch;
  /** Where the daemon is now, if it no longer is where it was; may start one. */
  readonly renew?: () => Promise<Endpoint>;
  /** Whether the daemon is known to be gone, without asking it; looked at before a call that may not be made twice. */
  readonly isGone?: () => boolean;
  /** An attachment was lost for good: the daemon was stopped, or the session has ended. */
  readonly lost?: (error: unknown) => void;
}

/** Every operation across processes, and what only a daemon has. */
export interface Client extends Orchestrator {
  /** The events as they are committed, for ever, from a number on. */
  follow(options?: FollowOptions): AsyncGenerator<readonly ReveilleEvent[], void, undefined>;
  health(options?: { signal?: AbortSignal }): Promise<Health>;
  /** A lasting session for a client of this person, with the credential to come back with. */
  grantSession(input: GrantInput): Promise<Grant>;
  /** The person's token is replaced by a new one, in the lock file and in this client's next endpoint. */
  rotateToken(): Promise<void>;
  stopDaemon(): Promise<void>;
  /** What a page of this person is shown. */
  readonly views: Views;
  /** For one page of this person, once, and within a minute. */
  pageTicket(): Promise<string>;
  /** The same daemon, called by somebody else. */
  as(credential: string): Client;
}

const CALLS_AT_ONCE = 64;

export function createClient(options: ClientOptions): Client {
  const link: Link = {
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    renew: options.renew ?? null,
    isGone: options.isGone ?? (() => false),
    turnstile: new Turnstile(CALLS_AT_ONCE),
    endpoint: { url: options.url, token: options.token },
    renewing: null,
  };
  const post = (path: string, body: unknown, repeatable = false): Promise<unknown> =>
    ask(link, { method: 'POST', path, body, repeatable });
  return {
    ...operations(link),
    attach: (session: SessionId, receive: Receiver) =>
      attach(link, { session, receive, lost: options.lost ?? (() => undefined) }),
    follow: (from = {}) => follow(link, from),
    async health({ signal } = {}) {
      const { method, path } = HTTP_ROUTES.health;
      return Health.parse(await ask(link, { method, path, signal, repeatable: true }));
    },
    async grantSession(input) {
      return Grant.parse(await post(HTTP_ROUTES.grant.path, parseInput(GrantInput, input)));
    },
    async rotateToken() {
      await post(HTTP_ROUTES.rotate.path, {});
    },
    async stopDaemon() {
      await post(HTTP_ROUTES.stop.path, {});
    },
    views: views(link),
    async pageTicket() {
      return Ticket.parse(await post(HTTP_ROUTES.ticket.path, {})).ticket;
    },
    as: (credential) => createClient(asSomebodyElse(options, link, credential)),
  };
}

function asSomebodyElse(options: ClientOptions, { endpoint }: Link, token: string): ClientOptions {
  const { renew } = options;
  const there = { ...options, url: endpoint.url, token };
  return renew ? { ...there, renew: async () => ({ url: (await renew()).url, token }) } : there;
}

function views(link: Link): Views {
  const made = Object.keys(VIEWS).map((name) => {
    const path = HTTP_ROUTES.view.path.replace(':view', name);
    return [
      name,
      (input: unknown = {}) => ask(link, { method: 'POST', path, body: input, repeatable: true }),
    ];
  });
  // The table has every view, which its own type demands, and the daemon answers as the interface says.
  return Object.fromEntries(made) as Views;
}

type Operations = Pick<Orchestrator, HttpOperation>;

function operations(link: Link): Operations {
  const made = HTTP_OPERATION_NAMES.map((name) => [name, operation(link, name)]);
  // The table has every operation, which its own type demands, and the daemon answers as the interface says.
  return Object.fromEntries(made) as unknown as Operations;
}

function operation(link: Link, name: HttpOperation): (...args: unknown[]) => Promise<unknown> {
  const { waits, repeatable }: HttpContract = HTTP_OPERATIONS[name];
  const path = HTTP_ROUTES.operation.path.replace(':operation', name);
  return (...args) => {
    const { given, signal } = waits ? withoutSignal(args) : { given: args, signal: undefined };
    return ask(link, { method: 'POST', path, body: withoutTail(given), signal, repeatable, waits });
  };
}

/** The last argument of a call that waits may hold the caller's signal, which stays here. */
function withoutSignal(args: readonly unknown[]): { given: unknown[]; signal: AbortSignal | undefined } {
  const [input, options] = args;
  if (typeof options !== 'object' || options === null) return { given: [input], signal: undefined };
  const { signal, ...rest } = options as { signal?: AbortSignal };
  return { given: Object.keys(rest).length > 0 ? [input, rest] : [input], signal };
}

/** What was not given is left out: JSON has no word for it. */
function withoutTail(args: readonly unknown[]): readonly unknown[] {
  return args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
}
