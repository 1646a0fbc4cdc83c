// Loaded first by every process of a detector (`node --import`): plants the mutant that the environment names.
import { readFileSync } from 'node:fs';
import { loadInstead } from '../load-instead.ts';

const url = process.env['REVEILLE_MUTANT_URL'];
const file = process.env['REVEILLE_MUTANT_SOURCE'];
if (url && file) loadInstead(url, readFileSync(file, 'utf8'));
