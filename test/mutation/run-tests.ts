// A detector in a process of its own: `node run-tests.ts FILE...` runs test files in this order, until a test fails, and exits
// with 1 then.
import { startVitest, type TestCase, type TestModule, type TestSpecification } from 'vitest/node';
import { ROOT } from './mutants.ts';

const files = process.argv.slice(2).map((file) => ROOT + file);
const place = ({ moduleId }: TestSpecification): number => files.indexOf(moduleId);

/** One after another, as they are named: the quickest first. */
class AsNamed {
  shard(specifications: TestSpecification[]): TestSpecification[] {
    return specifications;
  }
  sort(specifications: TestSpecification[]): TestSpecification[] {
    return specifications.toSorted((a, b) => place(a) - place(b));
  }
}

const watched = process.env['REVEILLE_COVERAGE'] !== undefined;
let first: string | null = null;
const fail = (name: string): void => void (first ??= name);

const vitest = await startVitest('test', [], {
  config: false,
  root: ROOT,
  include: files,
  watch: false,
  isolate: false,
  pool: 'forks',
  maxWorkers: 1,
  bail: 1,
  retry: 0,
  // Nothing here waits for a machine. What takes longer stands still.
  testTimeout: watched ? 300_000 : 20_000,
  hookTimeout: watched ? 300_000 : 20_000,
  teardownTimeout: 2_000,
  setupFiles: [`${ROOT}test/setup.ts`, ...(watched ? [`${ROOT}test/mutation/coverage-setup.ts`] : [])],
  execArgv: ['--conditions=source'],
  sequence: { sequencer: AsNamed },
  experimental: { viteModuleRunner: false, nodeLoader: false },
  reporters: [
    {
      onTestCaseResult: (test: TestCase) => {
        if (test.result().state === 'failed') fail(`${test.module.relativeModuleId}: ${test.fullName}`);
      },
      onTestModuleEnd: (module: TestModule) => {
        if (module.errors().length > 0) fail(`${module.relativeModuleId} cannot be run`);
      },
      onTestRunEnd: (_modules, errors) => {
        if (errors.length > 0) fail(`an error that no test waited for: ${errors[0]?.message ?? ''}`);
      },
    },
  ],
});
await vitest.close();
if (first) console.log(first);
process.exit(first ? 1 : 0);
