import { lstatSync } from 'node:fs';
import { ReveilleError } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { capture, type Captured, type CaptureOptions } from './capture.ts';
import { enter } from './entry.ts';
import { treeAt } from './refs.ts';
import type { Scratch } from './scratch-place.ts';

export interface StateOptions extends Pick<CaptureOptions, 'base' | 'head' | 'names'> {
  /** Further commits that the person's repository has. */
  readonly known?: readonly string[];
  readonly patienceMs?: number | undefined;
}

/** The files of a checkout, as a tree in the person's repository; to be released when something points to it. */
export interface State extends Omit<Captured, 'remember'> {
  readonly release: () => Promise<void>;
}

/** Settings that git reads from a tree can be bad; all else is only content. */
const isGitSetting = (path: string): boolean => /(?:^|\/)\.git[a-z]+$/i.test(path);

export async function takeState(scratch: Scratch, checkout: Checkout, options: StateOptions): Promise<State> {
  const { repository, path } = checkout;
  const { base, head = base, names = [], known = [], patienceMs } = options;
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const gone = `There is no folder at ${path} any more; what is kept is the last commit.`;
    return {
      tree: await treeAt(repository, base),
      notices: [gone],
      leftOut: [],
      release: async () => undefined,
    };
  }
  const all = [base, `${base}^{tree}`, head, ...known];
  const judged = { base, head, names, patienceMs };
  const first = await capture(scratch, checkout, judged);
  const entry = await enter(scratch, { tips: [first.tree], known: all });
  if (entry.entered) {
    await first.remember();
    return { ...first, release: entry.release };
  }
  const second = await capture(scratch, checkout, { ...judged, skip: isGitSetting });
  const again = await enter(scratch, { tips: [second.tree], known: all });
  if (!again.entered)
    throw new ReveilleError(
      'workspace_failed',
      `The files of ${checkout.name} cannot be taken: ${again.problem}`,
    );
  const why = `Changed .git… files were left out, because git refuses them: ${entry.problem}`;
  return { ...second, leftOut: [...second.leftOut, why], release: again.release };
}
