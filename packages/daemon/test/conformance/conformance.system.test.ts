import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { OverHttp } from '../inside.ts';
import { conformanceProfile } from './profile.ts';
import { withCredential } from './proxy.ts';
import { ACTIVE, NOT_SCORED, REQUIRED, SUITE, isOfTasks } from './scenarios.ts';

interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}
type Results = ReadonlyMap<string, readonly Check[]>;

/** The suite against a daemon that serves the profile, with all that the daemon demands of every request. */
async function run(...which: string[]): Promise<Results> {
  const profile = conformanceProfile();
  const world = (): never => {
    throw new Error('the profile has no catalogue');
  };
  await using door = await OverHttp.open({
    parts: {
      mounts: () => [
        {
          path: '/mcp',
          handle: (request) => profile.fetch(request, { key: 'suite', kind: 'person', world }),
          close: () => profile.close(),
        },
      ],
    },
  });
  await using proxy = await withCredential(door);
  const folder = mkdtempSync(join(tmpdir(), 'reveille-conformance-'));
  try {
    const args = [SUITE, 'server', '--url', proxy.url, '--timeout', '300000', '-o', folder, ...which];
    const suite = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await Promise.all([
      text(suite.stdout),
      new Promise((resolve) => suite.once('close', resolve)),
    ]);
    expect(suite.exitCode, said).toBe(0);
    return resultsIn(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** One folder for each scenario: its name between a word and a time. */
function resultsIn(folder: string): Results {
  return new Map(
    readdirSync(folder).map((name) => {
      const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[];
      return [name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''), checks];
    }),
  );
}

function expectPassed(results: Results, scenario: string): void {
  const checks = results.get(scenario) ?? [];
  expect(checks.filter(({ status }) => status === 'FAILURE')).toEqual([]);
  expect(checks.some(({ status }) => status === 'SUCCESS')).toBe(true);
}

describe('MCP conformance: the active suite', () => {
  let results: Results = new Map();
  beforeAll(async () => {
    results = await run('--suite', 'active');
  });

  test.each(ACTIVE)('[MCP30] %s', (scenario) => expectPassed(results, scenario));

  test('[MCP30] these are all that were run', () => {
    expect([...results.keys()].toSorted()).toEqual([...ACTIVE].toSorted());
  });
});

describe('MCP conformance: what 2026-07-28 requires', () => {
  let results: Results = new Map();
  beforeAll(async () => {
    results = await run('--requirements', '2026-07-28');
  });

  test.each(REQUIRED)('[MCP31] %s', (scenario) => expectPassed(results, scenario));

  test.each(NOT_SCORED.filter(({ scenario }) => !isOfTasks(scenario)))(
    '[MCP31] $scenario: not scored ($reason), and passed all the same',
    ({ scenario }) => expectPassed(results, scenario),
  );

  test.each(NOT_SCORED.filter(({ scenario }) => isOfTasks(scenario)))(
    '[MCP32] $scenario: not scored ($reason), not offered',
    ({ scenario }) => {
      const checks = results.get(scenario) ?? [];
      const passed = checks.every(({ status }) => status === 'SUCCESS');
      // It was run; the day it passes, the decision is to be made again.
      expect(checks.length > 0 && passed, JSON.stringify(checks)).toBe(false);
    },
  );

  test('[MCP31] these are all that were run', () => {
    const named = [...REQUIRED, ...NOT_SCORED.map(({ scenario }) => scenario)];
    expect([...results.keys()].toSorted()).toEqual(named.toSorted());
  });
});
