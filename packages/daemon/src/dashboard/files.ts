import { readFileSync, readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { sendError, type Exchange } from '../http/answer.ts';

/** Its own scripts and styles, its own daemon, and nothing else; nothing that was put into text is ever run or fetched. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const BASE = '/dashboard';
const NOT_BUILT =
  'The dashboard is not built. Run `npm run dashboard` in the clone of Reveille, then load this page again.';

type Files = ReadonlyMap<string, Buffer>;

/** The built page, from memory. Every address of it that is no file is the page itself: it has its own places. */
export class DashboardFiles {
  readonly #folder: string;
  #known: { readonly at: number; readonly files: Files } | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  serve(exchange: Exchange, path: string): void {
    const files = this.#files();
    if (!files) return sendError(exchange, new ReveilleError('not_found', NOT_BUILT), 503);
    const name = path.slice(BASE.length + 1);
    const wanted = extname(name) === '' ? 'index.html' : name;
    const bytes = files.get(wanted);
    if (!bytes) return sendError(exchange, new ReveilleError('not_found', 'There is nothing here.'));
    const { response } = exchange;
    response.setHeader('content-security-policy', CSP);
    response.setHeader('content-type', TYPES[extname(wanted)] ?? 'application/octet-stream');
    response.setHeader('content-length', bytes.length);
    response.end(bytes);
  }

  /** Null: it is not built. Read again when it was built again. */
  #files(): Files | null {
    const at = statSync(join(this.#folder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs;
    if (at === undefined) return null;
    if (this.#known?.at !== at) this.#known = { at, files: readAll(this.#folder) };
    return this.#known.files;
  }
}

function readAll(folder: string): Files {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path)]));
}
