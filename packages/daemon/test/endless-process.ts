/** The model without end in a process of its own, so that whoever measures beside it is not held up. Prints its address. */
import { endlessModel } from '../../../test/endless-model.ts';

const { url } = await endlessModel(['arguments', 'calls', 'text', 'line'], Infinity);
process.stdout.write(`${url}\n`);
process.once('disconnect', () => process.exit());
