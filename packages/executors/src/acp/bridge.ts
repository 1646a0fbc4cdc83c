/**
 * For agents that take tools only from a program they start: a program that passes each line on to our server and its
 * answers back. It is handed to Node as it is, so there is no file of ours that a sandbox would have to show.
 *
 * Environment: REVEILLE_MCP_URL, REVEILLE_MCP_TOKEN.
 */
export const BRIDGE = String.raw`
const { REVEILLE_MCP_URL: url, REVEILLE_MCP_TOKEN: token } = process.env;
let session, version, rest = '';
const say = (text) => process.stdout.write(text.replaceAll('\n', ' ') + '\n');
const open = new Set();
const carry = async (line) => {
  const message = JSON.parse(line);
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json',
    accept: 'application/json, text/event-stream' };
  if (session) headers['mcp-session-id'] = session;
  if (version) headers['mcp-protocol-version'] = version;
  try {
    const response = await fetch(url, { method: 'POST', headers, body: line });
    session = response.headers.get('mcp-session-id') || session;
    const type = response.headers.get('content-type') || '';
    const heard = (text) => {
      const answer = JSON.parse(text);
      if (answer.result && answer.result.protocolVersion) version = answer.result.protocolVersion;
      say(JSON.stringify(answer));
    };
    if (type.includes('text/event-stream')) {
      let text = '';
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
          const data = text.slice(0, end).split('\n').filter((part) => part.startsWith('data:'));
          text = text.slice(end + 2);
          const joined = data.map((part) => part.slice(5).trimStart()).join('\n');
          if (joined) heard(joined);
        }
      }
    } else {
      const text = await response.text();
      if (text && message.id !== undefined) heard(text);
    }
  } catch (error) {
    if (message.id !== undefined)
      say(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32000, message: String(error) } }));
  }
};
let first = Promise.resolve();
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  rest += chunk;
  for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
    const line = rest.slice(0, end).trim();
    rest = rest.slice(end + 1);
    if (!line) continue;
    // What follows the first message needs what its answer said; after that they need not wait for each other.
    const sent = session ? carry(line) : (first = first.then(() => carry(line)));
    open.add(sent);
    sent.finally(() => open.delete(sent));
  }
});
process.stdin.on('end', () => Promise.allSettled([...open]).then(() => process.exit(0)));
`;
