import { defineConfig } from 'vitest/config';

// One process per suite file would cost three times as long: files share their workers (isolate: false),
// so a test keeps no global state and mocks no module.
const shared = {
  extends: true as const,
};

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    isolate: false,
    pool: 'threads',
    projects: [
      { ...shared, test: { name: 'unit', include: ['packages/*/test/**/*.test.ts', 'apps/*/test/**/*.test.ts'] } },
      { ...shared, test: { name: 'simulation', include: ['test/simulation/**/*.test.ts'] } },
      { ...shared, test: { name: 'crash', include: ['test/crash/**/*.test.ts'] } },
    ],
  },
});
