import { defineConfig } from 'vitest/config';

// Test files share their worker processes (isolate: false), which is three times as fast. So a test keeps no
// global state and mocks no module. Processes, not threads: tests that look for left-over handles, change
// process.env or send signals see a process of their own.
const ROOMS = ['packages/*/test/**/*.test.ts', 'apps/*/test/**/*.test.ts', 'scripts/test/*.test.mjs'];
const SYSTEM = ['packages/*/test/**/*.system.test.ts', 'apps/*/test/**/*.system.test.ts'];
const AGENTS = ['packages/*/test/**/*.agents.test.ts', 'apps/*/test/**/*.agents.test.ts'];

// Node loads the sources itself, as it does when the product runs: nothing is transformed before the first test.
// What Node cannot load, such as .tsx, is left to the system tests.
const NATIVE = {
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: ['--conditions=source'],
};

// A unit test waits for no process. One that hangs is said at once, not after the ten minutes of the others.
const UNIT = { ...NATIVE, testTimeout: 30_000, hookTimeout: 30_000 };

// A test of real processes meets the machine's bad moments; one that fails every time has found something.
const RETRIES = process.env['CI'] ? 2 : 0;

export default defineConfig({
  // Sources are run as they are: no package needs to be built before its tests.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    isolate: false,
    pool: 'forks',
    setupFiles: [new URL('test/setup.ts', import.meta.url).pathname],
    // No test asserts a time, and machines are busy.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // Most of the time a test of real processes waits for one.
    maxWorkers: '100%',
    projects: [
      project('unit', ROOMS, [...SYSTEM, ...AGENTS], UNIT),
      // Real processes, servers and files, and models tried on hundreds of cases: too slow to be run before every commit.
      project('system', SYSTEM, [], { retry: RETRIES }),
      project('simulation', ['test/simulation/**/*.test.ts']),
      project('crash', ['test/crash/**/*.test.ts']),
      project('mutation', ['test/mutation/**/*.test.ts'], [], { maxConcurrency: 2 }),
      project('differential', ['test/differential/**/*.test.ts']),
      // Real agents of their vendors, which `npm run test:agents` installs. Each takes up to a gigabyte, and a core while it
      // starts.
      project('agents', AGENTS, [], { retry: RETRIES, maxConcurrency: 3, passWithNoTests: true }),
    ],
  },
});

function project(name: string, include: string[], exclude: string[] = [], more: object = {}) {
  return { extends: true as const, test: { name, include, exclude, ...more } };
}
