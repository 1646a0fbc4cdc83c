import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { LoginInput, PAGE_ROUTES, ProofInput, parseInput } from '@reveille/protocol';
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { sendValue, type Exchange } from '../http/answer.ts';
import { readJson } from '../http/body.ts';
import type { DashboardFiles } from './files.ts';
import type { Pages } from './pages.ts';

const SMALL = { bytes: 1_000, values: 100 };

interface Options {
  readonly files: DashboardFiles;
  readonly pages: Pages;
  readonly now: () => number;
}

/**
 * What is served without a credential: the page, which holds no data, and how it comes by a credential. A page of another
 * origin can do nothing with either: it was refused before (`headers.ts`), and nothing here counts by a cookie.
 */
export function pageDoor<E extends { Bindings: HttpBindings & { readonly exchange: Exchange } }>(
  hono: Hono<E>,
  { files, pages, now }: Options,
): void {
  hono.on('POST', PAGE_ROUTES.login, async (c) => {
    const { exchange } = c.env;
    const { ticket } = parseInput(LoginInput, await readJson(exchange.request, SMALL));
    sendValue(exchange, { credential: pages.login(ticket, now()) });
    return RESPONSE_ALREADY_SENT;
  });
  hono.on('POST', PAGE_ROUTES.proof, async (c) => {
    const { exchange } = c.env;
    sendValue(exchange, {
      proof: pages.proof(parseInput(ProofInput, await readJson(exchange.request, SMALL))),
    });
    return RESPONSE_ALREADY_SENT;
  });
  for (const path of ['/dashboard', '/dashboard/*'])
    hono.on('GET', path, (c) => {
      files.serve(c.env.exchange, c.req.path);
      return RESPONSE_ALREADY_SENT;
    });
}
