// Tries everything as the user it is started as, and prints what came of it.
import { usedByTree } from '@reveille/navigation/memory';
import { tryEverything } from '../../src/doctor/matrix.ts';
import { probeSandbox } from '../../src/sandbox/sandbox.ts';

console.log(JSON.stringify({ probe: await probeSandbox(), tried: await tryEverything(usedByTree) }));
