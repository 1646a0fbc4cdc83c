import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Answers every request with a few bytes: what a round trip over loopback costs if nothing is done.
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json').end('{"value":null}');
  });
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
