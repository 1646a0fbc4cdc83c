// Vitest runs this before every test file: appends what the file executed to the file that REVEILLE_COVERAGE names.
import { appendFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';
import { ROOT } from './mutants.ts';
import { watchCoverage } from './watch-coverage.ts';

const known = globalThis as { reveilleCoverage?: ReturnType<typeof watchCoverage> };
known.reveilleCoverage ??= watchCoverage();
const look = await known.reveilleCoverage;

afterAll(async () => {
  const test = expect.getState().testPath?.slice(ROOT.length);
  const line = JSON.stringify({ test, coverage: await look() });
  appendFileSync(process.env['REVEILLE_COVERAGE'] ?? '', `${line}\n`);
});
