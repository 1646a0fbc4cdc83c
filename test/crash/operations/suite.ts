import { describeKill, PreparedScene, type KillResult } from './drive.ts';
import type { Victims } from './mutations.ts';

export interface SceneOptions {
  /** This act alone. */
  readonly at?: number;
  readonly victims?: Victims;
  /** Only acts of such a name count. */
  readonly named?: string;
  /** Every so many acts one. */
  readonly every?: number;
  /** At most so many, spread over all; every one unless told. */
  readonly most?: number;
  /** Which acts are taken where not all are, and who dies at each. */
  readonly seed: number;
  readonly onKill?: (result: KillResult) => void;
}

/** Kills one operation again and again, each time at another of its acts. */
export async function runScene(name: string, options: SceneOptions): Promise<KillResult[]> {
  const { seed, onKill } = options;
  using scene = await PreparedScene.prepare(name);
  const results: KillResult[] = [];
  for (const at of actsToKill(scene.acts.length, options)) {
    const victims = options.victims ?? ((at + seed) % 2 === 0 ? 'self' : 'group');
    const result = await scene.killAt(at, victims, options.named);
    results.push(result);
    onKill?.(result);
  }
  return results;
}

function actsToKill(count: number, { at, every, most = count, seed }: SceneOptions): number[] {
  if (at !== undefined) return [at];
  const step = every ?? Math.max(1, Math.ceil(count / most));
  const all = Array.from({ length: count }, (_, i) => i + 1);
  return all.filter((act) => act % step === seed % step);
}

export const describeProblems = (results: readonly KillResult[]): string =>
  results
    .filter(({ problems }) => problems.length > 0)
    .map(describeKill)
    .join('\n');
