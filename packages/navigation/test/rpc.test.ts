import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { Rpc } from '../src/lsp/rpc.ts';

function spoken() {
  const input = new PassThrough();
  const output = new PassThrough();
  const told: unknown[] = [];
  const rpc = new Rpc(input, output, {
    request: (method, params) => ({ method, params }),
    notification: (method, params) => void told.push([method, params]),
    garbled: (why) => void told.push(why),
    unheard: () => void told.push('unheard'),
  });
  const say = (message: object | string): Buffer => {
    const body = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message });
    return Buffer.from(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const heard = (): string => (output.read() as Buffer | null)?.toString() ?? '';
  return { rpc, input, output, told, say, heard };
}

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

test('[NAV3.1] messages are understood in whatever pieces they come', async () => {
  const { rpc, input, say, told, heard } = spoken();
  const asked = [rpc.request('a', { ö: 1 }), rpc.request('b', {})];
  expect(heard()).toContain(
    'Content-Length: 55\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"a","params":{"ö":1}}',
  );
  const bytes = Buffer.concat([
    say({ method: 'note', params: 'ö' }),
    say({ id: 2, result: 'two' }),
    Buffer.from('Content-Type: x\r\n'),
    say({ id: 1, result: null, error: null }),
    say({ id: 'their', method: 'ask', params: 3 }),
  ]);
  for (const byte of bytes) input.write(Buffer.of(byte));
  expect(await Promise.all(asked)).toEqual([null, 'two']);
  const again = rpc.request('c', {});
  input.write(Buffer.concat([say({ method: 'other' }), say({ id: 3, error: { code: 1, message: 'no' } })]));
  await expect(again).rejects.toThrow('no');
  expect(told).toEqual([
    ['note', 'ö'],
    ['other', undefined],
  ]);
  expect(heard()).toContain('{"jsonrpc":"2.0","id":"their","result":{"method":"ask","params":3}}');
});

test('[NAV3.1] what is no message is told once, and nothing after the end', async () => {
  for (const garbage of ['no header\r\n\r\n', 'x'.repeat(5_000), 'Content-Length: 99999999999\r\n\r\n']) {
    const { input, told } = spoken();
    input.write(garbage);
    await aTurn();
    expect(told.length, garbage.slice(0, 20)).toBe(1);
  }
  const { rpc, input, say, told, heard } = spoken();
  input.write(say('{"id":'));
  await aTurn();
  expect(told.length).toBe(1);
  rpc[Symbol.dispose]();
  input.write(say({ method: 'note' }));
  rpc.notify('more', {});
  await aTurn();
  expect(told.length).toBe(1);
  expect(heard()).toBe('');
});

test('[NAV3.1] who does not listen is told of', async () => {
  const { rpc, output, told } = spoken();
  output.destroy();
  rpc.notify('more', {});
  await aTurn();
  expect(told).toContain('unheard');
});
