import { expect, test } from 'vitest';
import { SAME_PLAN, demo, lastLine } from './demo-run.ts';

/** Where it was installed, as `npm run test:agents` says it. */
const { claude } = JSON.parse(process.env['REVEILLE_AGENTS'] ?? '{}') as { claude?: string };

// That the registry refused it is said by whoever installs it.
test.skipIf(!claude)('[CLI1.90] the demo runs on the real Claude Code', async () => {
  const run = await demo(['--backend', 'claude', '--speed', '20', '--json'], { sdk: claude! });
  expect({ code: run.code, err: run.err, left: run.left }).toEqual({ code: 0, err: '', left: [] });
  expect(lastLine(run)).toMatchObject(SAME_PLAN);
});
