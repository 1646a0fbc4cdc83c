import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf, libraryIn, shopIn } from './case.ts';
import { Comparison, type Outcome } from './compare.ts';
import { caseOf } from './generate.ts';
import { HomeTrial } from './home.ts';
import { IntegrationModel } from './model-integration.ts';
import { TaskModel } from './model.ts';
import { PlainRepository } from './plain-git.ts';
import { RealCase } from './real.ts';
import { makeRepositories, placesIn } from './repositories.ts';
import { environmentIn } from './shell.ts';
import type { Station } from './station.ts';

export interface CaseResult extends Outcome {
  readonly seed: number;
  readonly ms: number;
}

/** Plays one seed through the daemon and in plain git, and says how they differ. */
export async function runCase(seed: number, station: Station, keep = false): Promise<CaseResult> {
  const began = performance.now();
  const folder = join(station.folder, 'cases', String(seed));
  try {
    const outcome = await playBoth(seed, station, folder);
    return { seed, ms: performance.now() - began, ...outcome };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return {
      seed,
      ms: performance.now() - began,
      sights: [],
      differences: [`it could not be played: ${text}`],
    };
  } finally {
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function playBoth(seed: number, station: Station, folder: string): Promise<Outcome> {
  const chosen = caseOf(seed);
  const files = filesOf(folder);
  const env = environmentIn(station.home);
  mkdirSync(folder, { recursive: true });
  const templates = join(station.folder, 'templates');
  await makeRepositories([files.real, files.plain], chosen.repository, { templates, env });
  writeFileSync(files.case, JSON.stringify(chosen));
  const plain = new PlainRepository(files.plain, { ...env, ...placesIn(files.plain) });
  const model = new TaskModel(chosen, plain);
  const real = new RealCase(chosen, folder, station.client);
  const [played] = await Promise.all([real.play(), model.run()]);
  const expected = await new IntegrationModel(chosen, plain, model.tasks).run();
  const shop = { path: shopIn(files.real), env: { ...env, LIBRARY: libraryIn(files.real) } };
  const comparison = new Comparison({ case: chosen, plain, shop, expected, tasks: model.tasks });
  comparison.tasks(played, real);
  comparison.integration(played);
  const home = new HomeTrial({ case: chosen, plain, shop, client: station.client, comparison, expected });
  await home.restored(played, model.tasks);
  await home.broughtHome(played);
  await comparison.settle();
  return comparison.outcome();
}
