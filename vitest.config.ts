import { defineConfig } from 'vitest/config';

// Test files share their worker processes (isolate: false), which is three times as fast. So a test keeps no
// global state and mocks no module. Processes, not threads: tests that look for left-over handles, change
// process.env or send signals see a process of their own.
export default defineConfig({
  // Sources are run as they are: no package needs to be built before its tests.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    isolate: false,
    pool: 'forks',
    projects: [
      project('unit', [
        'packages/*/test/**/*.test.ts',
        'apps/*/test/**/*.test.ts',
        'scripts/test/*.test.mjs',
      ]),
      project('simulation', ['test/simulation/**/*.test.ts']),
      project('crash', ['test/crash/**/*.test.ts']),
    ],
  },
});

function project(name: string, include: string[]) {
  return { extends: true as const, test: { name, include } };
}
