import { test } from 'vitest';
import { executorContract } from './contract.ts';
import { claudeBackend } from './process-backends.ts';

/** Where it was installed, as `npm run test:agents` says it. */
const { claude } = JSON.parse(process.env['REVEILLE_AGENTS'] ?? '{}') as { claude?: string };

if (claude) executorContract(claudeBackend(claude), 'the real Claude Code');
// That the registry refused it is said by whoever installs it.
else test.skip('[EXE6.1] the real Claude Code is not installed: use npm run test:agents', () => undefined);
