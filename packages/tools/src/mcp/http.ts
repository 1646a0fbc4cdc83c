import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  readRequestBody,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { ReveilleError, jsonExcess } from '@reveille/protocol';
import type { McpCaller, McpOptions, ServerFor } from './caller.ts';
import { LegacyLeg, type LegacyOptions } from './legacy.ts';
import { mcpServer } from './server.ts';

export interface McpHttpOptions extends McpOptions {
  /** Another server than the catalogue's, on the same handler and transports. */
  readonly serverFor?: ServerFor;
  /** Of a request's body; 8 MiB unless told. */
  readonly maxBodyBytes?: number;
  readonly legacy?: LegacyOptions;
  /** Where changes are made known to those who listen in the 2026 era; one of its own unless told. */
  readonly bus?: ServerEventBus;
}

export interface McpHttp {
  /**
   * Serves one request of a caller whose credential was checked, as were Host and Origin. The request's signal must fire
   * when its client goes away: a call that nobody waits for must not take mail.
   */
  fetch(request: Request, caller: McpCaller): Promise<Response>;
  /** What callers may use has changed: those who listen are told to look again. */
  toolsChanged(): void;
  /** Ends every exchange that is open. */
  close(): Promise<void>;
}

const BODY_BYTES = 8 * 2 ** 20;
/** Of a request: several times what the largest input of the catalogue holds. */
const BOUNDS = { values: 200_000, depth: 64 };

/** Streamable HTTP for both eras of the protocol, from one catalogue. */
export function mcpHttp(options: McpHttpOptions): McpHttp {
  const { serverFor = (caller, connection) => mcpServer(caller, options, connection) } = options;
  const maxBytes = options.maxBodyBytes ?? BODY_BYTES;
  const callers = new WeakMap<Request, McpCaller>();
  const onerror = (error: Error): void => options.onError?.(error);
  const modern = createMcpHandler(
    ({ requestInfo }) => {
      const caller = requestInfo && callers.get(requestInfo);
      if (!caller) throw new ReveilleError('internal', 'A request came without its caller.');
      return serverFor(caller, null);
    },
    { legacy: 'reject', onerror, maxRequestBodySize: maxBytes, ...(options.bus ? { bus: options.bus } : {}) },
  );
  const legacy = new LegacyLeg({ serverFor, onError: onerror, maxBodyBytes: maxBytes, ...options.legacy });
  return {
    async fetch(request, caller) {
      if (request.method !== 'POST') return legacy.serve(request, caller, undefined);
      callers.set(request, caller);
      // It answers what is not JSON itself.
      if (!isJsonContentType(request.headers.get('content-type'))) return modern.fetch(request);
      const body = await readJson(request, maxBytes);
      if (body instanceof Response) return body;
      if (await isLegacyRequest(request, body.value)) return legacy.serve(request, caller, body.value);
      return modern.fetch(request, { parsedBody: body.value });
    },
    toolsChanged() {
      modern.notify.toolsChanged();
      legacy.toolsChanged();
    },
    async close() {
      await Promise.all([modern.close(), legacy.close()]);
    },
  };
}

/** Read and parsed once, for both legs. */
async function readJson(request: Request, maxBytes: number): Promise<{ value: unknown } | Response> {
  try {
    const read = await readRequestBody(request, maxBytes);
    if (read.tooLarge) return rpcError(413, -32_000, `The request is larger than ${maxBytes} bytes.`);
    const excess = jsonExcess(read.text, BOUNDS);
    if (excess !== null) return rpcError(400, -32_600, `The request holds too much: ${excess}.`);
    return { value: JSON.parse(read.text) };
  } catch {
    return rpcError(400, -32_700, 'Parse error: the body is not valid JSON.');
  }
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
