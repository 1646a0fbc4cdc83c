import { parseArgs } from 'node:util';
import type { KillResult } from './drive.ts';
import { SCENES } from './scenes.ts';
import { describeProblems, runScene, type SceneOptions } from './suite.ts';

const USAGE = `npm run crash -- --operations [--scene name] [--every K] [--seed S] [--at N --victims self|group]
  Kills each operation on a repository at every act on the disk, and at the start and in the middle of every program that it
  runs, and looks whether a new life settles it and the same call again ends well. That are some 2,000 kills; --every takes
  one in K, and the seed says which. --victims group: what it runs dies too. A scene is one of:
  ${[...SCENES.keys()].join(', ')}`;

/** Answers with the exit code. */
export async function runOperations(): Promise<number> {
  const options = readOptions();
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  const results: KillResult[] = [];
  for (const name of options.scenes) {
    const began = performance.now();
    const some = await runScene(name, { ...options, onKill: () => process.stderr.write('.') });
    results.push(...some);
    const bad = some.filter(({ problems }) => problems.length > 0).length;
    const took = ((performance.now() - began) / 1_000).toFixed(0);
    console.log(`\n${name.padEnd(16)}${some.length} kills, ${bad} with problems, ${took} s`);
  }
  const failures = describeProblems(results);
  if (failures !== '')
    console.error(`\nFailed. Each line that begins with npm plays one of them again:\n${failures}`);
  return failures === '' ? 0 : 1;
}

function readOptions(): (SceneOptions & { readonly scenes: readonly string[] }) | null {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      options: {
        operations: { type: 'boolean' },
        scene: text,
        every: text,
        seed: text,
        at: text,
        victims: text,
      },
    });
    const { scene, victims } = values;
    const [every, seed] = [Number(values.every ?? 1), Number(values.seed ?? 0)];
    const at = values.at === undefined ? undefined : Number(values.at);
    if (![every, seed, at ?? 1].every((value) => Number.isInteger(value) && value >= 0) || every < 1)
      return null;
    if (scene !== undefined && !SCENES.has(scene)) return null;
    if (victims !== undefined && victims !== 'self' && victims !== 'group') return null;
    return {
      scenes: scene === undefined ? [...SCENES.keys()] : [scene],
      every,
      seed,
      ...(at === undefined ? {} : { at }),
      ...(victims === undefined ? {} : { victims }),
    };
  } catch {
    return null; // an option that does not exist
  }
}
