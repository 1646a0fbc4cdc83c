import { cli } from './cli.ts';
import { endWhenUnread, processIo } from './io.ts';

const args = process.argv.slice(2);
// The demo has something to put away first, and listens for itself.
if (args[0] !== 'demo') endWhenUnread();
process.exitCode = await cli(args, processIo());
