// Tries every attack by a repository as the user it is started as, and prints what came of it.
import { attack, ATTACKS } from './attacks.ts';

const results = [];
for (const each of ATTACKS) if (!each.rootOnly) results.push(await attack(each));
console.log(JSON.stringify(results));
