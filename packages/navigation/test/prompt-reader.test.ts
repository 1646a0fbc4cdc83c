import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Message } from 'vscode-jsonrpc/node';
import { PromptReader } from '../src/lsp/prompt-reader.ts';

const framed = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const message = (more: object): string => framed(JSON.stringify({ jsonrpc: '2.0', ...more }));

function reading(): { readonly stream: PassThrough; readonly got: Message[]; readonly errors: string[] } {
  const stream = new PassThrough();
  const reader = new PromptReader(stream);
  const got: Message[] = [];
  const errors: string[] = [];
  reader.onError(({ message: text }) => errors.push(text));
  reader.listen((each) => got.push(each));
  return { stream, got, errors };
}

const ended = async (stream: PassThrough): Promise<void> => {
  stream.end();
  await new Promise((resolve) => stream.once('close', resolve));
};

test('[NAV3.25] messages are read in whatever pieces they come, in their order', async () => {
  const texts = ['one', 'zwei €', 'drei 𝒳'];
  const bytes = Buffer.from(texts.map((result, id) => message({ id, result })).join(''));
  for (const size of [1, 7, 30, bytes.length]) {
    const { stream, got, errors } = reading();
    for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
    await ended(stream);
    expect(got).toEqual(texts.map((result, id) => ({ jsonrpc: '2.0', id, result })));
    expect(errors).toEqual([]);
  }
});

test('[NAV3.25] what a server notes for its log is left out, and nothing else', async () => {
  const { stream, got } = reading();
  stream.write(message({ method: 'window/logMessage', params: { type: 3, message: 'handled' } }));
  stream.write(message({ method: '$/progress', params: {} }));
  stream.write(message({ id: 1, method: 'workspace/configuration', params: {} }));
  stream.write(message({ id: 1, result: null }));
  await ended(stream);
  expect(got.map((each) => ('method' in each ? each.method : 'answer'))).toEqual([
    '$/progress',
    'workspace/configuration',
    'answer',
  ]);
});

test('[NAV3.1] what is no message is an error', async () => {
  const bad = [
    'Content-Length: x\r\n\r\n{}',
    'Content-Type: y\r\n\r\n{}',
    'no head\r\n\r\n',
    framed('{"a'),
    framed('null'),
    framed('7'),
  ];
  for (const text of bad) {
    const { stream, got, errors } = reading();
    stream.write(text);
    await ended(stream);
    expect(errors, text).toHaveLength(1);
    expect(got).toEqual([]);
  }
});
