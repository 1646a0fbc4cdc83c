/** One message of a stream of server-sent events. */
export interface ServerSent {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string;
}

/**
 * Reads server-sent events from a body, in the part of the format that the daemon writes (lines end with \n). `heard`
 * is called for whatever comes, comments included: it shows that the other side lives.
 */
export async function* serverSent(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<ServerSent, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const message = parseBlock(block);
        if (message) yield message;
      }
    }
  } finally {
    // Whoever stops reading lets go of the connection; that it is gone already is no news.
    reader.cancel().catch(() => undefined);
  }
}

function parseBlock(block: string): ServerSent | null {
  let id: string | null = null;
  let event: string | null = null;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') id = value;
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
  }
  return data.length > 0 || event !== null ? { id, event, data: data.join('\n') } : null;
}
