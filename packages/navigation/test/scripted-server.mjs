// A language server whose answers are simple and whose faults are asked for by name: whoever asks about `Crash` sees it crash.
// It knows words only: every place of a word is a use of it, the first line with `func <word>` its definition.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [mode = ''] = process.argv.slice(2);
let root = '';
let input = Buffer.alloc(0);
const asked = new Map();
const held = [];

if (mode === 'dies') {
  process.stderr.write(
    'node:internal/loader:1\n  throw err;\n\nError: Cannot find module "x"\n    at y\n\nNode.js v24',
  );
  process.exit(7);
}
// One that is deaf stays when its input ends: only its parent's end can end it.
if (mode === 'deaf') setInterval(() => undefined, 1_000);
else process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (chunk) => {
  input = Buffer.concat([input, chunk]);
  for (let message = next(); message; message = next()) handle(message);
});

function next() {
  const head = input.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const length = Number(/Content-Length: (\d+)/i.exec(input.subarray(0, head).toString())?.[1]);
  if (input.length < head + 4 + length) return null;
  const body = input.subarray(head + 4, head + 4 + length).toString();
  input = input.subarray(head + 4 + length);
  return JSON.parse(body);
}

function send(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function handle({ id, method, params }) {
  if (id === undefined || method === undefined) return;
  if (method === 'initialize') {
    if (mode === 'hangs-at-start') return;
    root = fileURLToPath(params.rootUri);
    send({ id, result: { capabilities: {} } });
    if (mode === 'loads' || mode === 'never-loads') progress('begin');
    return;
  }
  const word = params.position ? wordAt(params) : '';
  if (fault(word, id)) return;
  if (method === 'textDocument/references') {
    const all = places(word);
    // As some servers do: what is loaded so far, the first time.
    const count = (asked.get(word) ?? 0) + 1;
    asked.set(word, count);
    const isPartial = mode === 'loads' ? count < 12 : word === 'Partial' && count === 1;
    send({ id, result: isPartial ? all.slice(0, 1) : all });
    if (mode === 'loads' && count === 12) progress('end');
    return;
  }
  if (method === 'textDocument/definition')
    return send({ id, result: places(word, `func ${word}`).slice(0, 1) });
  if (method === 'textDocument/hover' && word === 'Spy')
    return spy((value) => send({ id, result: { contents: value } }));
  send({ id, result: null });
}

function progress(kind) {
  send({ method: '$/progress', params: { token: 'loading', value: { kind, title: 'Loading' } } });
}

function fault(word, id) {
  if (word === 'Crash') process.exit(3);
  if (word === 'Hang') return true;
  if (word === 'Garbage') process.stdout.write('this is no message\r\n\r\nat all');
  if (word === 'Nonsense') send({ id, result: [{ uri: 5 }] });
  if (word === 'Grow') setInterval(() => held.push(Buffer.alloc(32 * 2 ** 20, 1)), 20);
  return ['Garbage', 'Nonsense', 'Grow'].includes(word);
}

function wordAt({ textDocument, position }) {
  const line = fs.readFileSync(fileURLToPath(textDocument.uri), 'utf8').split('\n')[position.line];
  return /^\w+/.exec(line.slice(position.character))?.[0] ?? '';
}

function places(word, text = word) {
  return fs
    .readdirSync(root)
    .filter((name) => name.endsWith('.go'))
    .flatMap((name) =>
      fs
        .readFileSync(path.join(root, name), 'utf8')
        .split('\n')
        .flatMap((line, i) => {
          const at = line.search(new RegExp(`\\b${text}\\b`));
          const start = { line: i, character: at + text.length - word.length };
          const range = { start, end: { line: i, character: start.character + word.length } };
          return at < 0 ? [] : [{ uri: pathToFileURL(path.join(root, name)).href, range }];
        }),
    );
}

/** What it can do from where it is. */
function spy(done) {
  const attempt = (act) => {
    try {
      act();
      return true;
    } catch {
      return false;
    }
  };
  const [secret] = fs.readFileSync(path.join(root, 'spy.txt'), 'utf8').split('\n');
  const port = Number(fs.readFileSync(path.join(root, 'port.txt'), 'utf8'));
  const seen = {
    writes: attempt(() => fs.writeFileSync(path.join(root, 'written.txt'), 'x')),
    reads: attempt(() => fs.readFileSync(secret)),
    sees: attempt(() => process.kill(Number(fs.readFileSync(path.join(root, 'pid.txt'), 'utf8')), 0)),
  };
  const socket = net.connect(port, '127.0.0.1');
  socket.on('connect', () => done(JSON.stringify({ ...seen, connects: true })));
  socket.on('error', () => done(JSON.stringify({ ...seen, connects: false })));
}
