import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runJob, type Job, type JobEnd } from './job.ts';
import { ROOT, plantMutant, type Mutant } from './mutants.ts';

export const DETECTORS = ['unit', 'simulation', 'system'] as const;
export type DetectorName = (typeof DETECTORS)[number];

/** What one detector says of a mutant. */
export interface Verdict {
  readonly detector: DetectorName;
  readonly found: boolean;
  /** The test or seed that failed, or how the process ended. */
  readonly by: string;
  readonly ms: number;
}

export const seedsJob = (seeds: number): Job => ({
  script: 'run-seeds.ts',
  args: ['1', String(seeds)],
  // Ten times what as many seeds of the engine as it is take.
  cpuSeconds: 20 + seeds / 10,
  wallSeconds: 1_200,
});

export const testsJob = (files: readonly string[]): Job => ({
  script: 'run-tests.ts',
  args: files,
  cpuSeconds: files.some((file) => file.includes('.system.')) ? 120 : 40,
  wallSeconds: 900,
});

/** Plants a mutant, or none, and runs one detector on it. */
export async function detect(detector: DetectorName, job: Job, mutant: Mutant | null): Promise<Verdict> {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'reveille-mutant-'));
  try {
    const ended = await runJob(job, { TMPDIR: folder, ...plantedIn(folder, mutant) });
    const ms = Math.round(performance.now() - started);
    return { detector, found: ended.code !== 0, by: ended.code === 0 ? '' : wordsOf(ended), ms };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function plantedIn(folder: string, mutant: Mutant | null): Record<string, string> {
  if (!mutant) return {};
  const source = plantMutant(mutant);
  if (source === null) throw new Error(`The mutant ${mutant.id} is no program.`);
  const file = join(folder, 'mutant.ts');
  writeFileSync(file, source);
  const hook = fileURLToPath(new URL('plant-here.ts', import.meta.url));
  return {
    REVEILLE_MUTANT_URL: pathToFileURL(ROOT + mutant.file).href,
    REVEILLE_MUTANT_SOURCE: file,
    NODE_OPTIONS: `--import=${pathToFileURL(hook).href}`,
  };
}

function wordsOf({ signal, code, said, late }: JobEnd): string {
  if (late || signal === 'SIGXCPU' || signal === 'SIGKILL') return 'it stands still';
  const line = said.trim().split('\n').at(-1) ?? '';
  return line === '' ? `ended with ${signal ?? code}` : line.slice(0, 300);
}
