// Navigation on a large real project, beside a bare run of the same server in the same run.
//   npm run bench:navigation [-- --worktrees 10 --budget 3072 --rounds 2]; 0 leaves a part out
import { parseArgs } from 'node:util';
import { Navigation } from '@reveille/navigation';
import type { Usages } from '@reveille/protocol';
import type { Sandbox } from '@reveille/worktrees';
import { BareServer, copyTree, obtain, openBench, placeIn, type Spot } from './navigation-world.ts';

const { values } = parseArgs({
  options: {
    worktrees: { type: 'string', default: '10' },
    budget: { type: 'string', default: '3072' },
    rounds: { type: 'string', default: '2' },
  },
});
const PATIENT = { signal: new AbortController().signal, waitMs: 600_000 };

/** Names from rare to common; several classes have a `Lerp`, and a list of vectors is called `Vector3` too. */
const RARE = { symbol: 'EncodeArrayBufferToBase64', file: 'Misc/stringTools.js' };
const ASKED: readonly { readonly symbol: string; readonly file: string }[] = [
  RARE,
  { symbol: 'Vector3', file: 'Maths/math.vector.pure.js' },
  { symbol: 'Observable', file: 'Misc/observable.pure.js' },
  { symbol: 'TmpVectors', file: 'Maths/math.vector.pure.js' },
  { symbol: 'Lerp', file: 'Maths/math.scalar.functions.js' },
  { symbol: 'Logger', file: 'Misc/logger.js' },
];

const { root, files } = obtain();
console.log(`${files} files`);
const sandbox = await openBench();
try {
  if (Number(values.rounds) > 0) {
    await coldAndWarm(sandbox);
    await textWhileCold(sandbox);
  }
  if (Number(values.worktrees) > 0) await manyWorktrees(sandbox);
} finally {
  await sandbox.close();
}

async function timed<T>(act: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const start = performance.now();
  const value = await act();
  return { ms: performance.now() - start, value };
}

interface Round {
  readonly cold: number;
  /** A name that was not asked for before, and the same again, as for the next page. */
  readonly warm: readonly number[];
  readonly again: readonly number[];
}

async function coldAndWarm(held: Sandbox): Promise<void> {
  const rounds: { bare: Round; ours: Round }[] = [];
  let answers: readonly Usages[] = [];
  for (let i = 0; i < Number(values.rounds); i++) {
    const ours = await oursRound(held);
    answers = ours.answers;
    rounds.push({ ours: ours.round, bare: await bareRound(answers) });
  }
  const best = (pick: (round: { bare: Round; ours: Round }) => number): number =>
    Math.min(...rounds.map(pick));
  show(
    'cold, first semantic answer',
    best(({ ours }) => ours.cold),
    best(({ bare }) => bare.cold),
  );
  for (const [i, { symbol }] of ASKED.entries()) {
    const part = (which: 'warm' | 'again') => (round: Round) => round[which][i] ?? 0;
    for (const which of ['warm', 'again'] as const) {
      const pick = part(which);
      show(
        `${which}, ${symbol}`,
        best(({ ours }) => pick(ours)),
        best(({ bare }) => pick(bare)),
      );
    }
  }
  for (const [i, { symbol }] of ASKED.entries()) precision(symbol, answers[i]);
}

function show(what: string, ours: number, bare: number): void {
  console.log(
    `${what.padEnd(44)} ${ours.toFixed(0).padStart(7)} ms   bare ${bare.toFixed(0).padStart(7)} ms   ${(ours / bare).toFixed(2)} ×`,
  );
}

/** What words alone would have said. */
function precision(symbol: string, answer: Usages | undefined): void {
  if (!answer) return;
  const other = answer.uncovered.reduce((sum, { count }) => sum + count, 0);
  const real = answer.usages.length + answer.definitions.length;
  const share = (100 * real) / (real + other);
  console.log(
    `${symbol.padEnd(28)} ${real} places, ${other} other text hits: words alone are right in ${share.toFixed(0)} %; ${answer.found}, complete: ${answer.complete}${answer.notes.length > 0 ? ` (${answer.notes.join('; ')})` : ''}`,
  );
}

async function oursRound(
  held: Sandbox,
): Promise<{ readonly round: Round; readonly answers: readonly Usages[] }> {
  await using navigation = new Navigation();
  using place = placeIn(held, root);
  const ask = navigation.in(place);
  const [first = { symbol: '', file: '' }] = ASKED;
  const cold = await timed(() => ask.usages(first, PATIENT));
  const answers: Usages[] = [];
  const warm: number[] = [];
  const again: number[] = [];
  for (const asked of ASKED) {
    const once = await timed(() => ask.usages(asked, PATIENT));
    warm.push(once.ms);
    answers.push(once.value);
    again.push((await timed(() => ask.usages(asked, PATIENT))).ms);
  }
  return { round: { cold: cold.ms, warm, again }, answers };
}

async function bareRound(answers: readonly Usages[]): Promise<Round> {
  const spots = answers.map(({ definitions: [first] }): Spot => ({
    file: first?.path ?? '',
    line: first?.line ?? 1,
    column: first?.column ?? 1,
  }));
  const [first] = spots;
  if (!first) throw new Error('nothing was found');
  const cold = await timed(async () => {
    const started = await BareServer.start(root);
    started.open(first.file);
    await started.references(first);
    return started;
  });
  const server = cold.value;
  const warm: number[] = [];
  const again: number[] = [];
  for (const spot of spots) {
    warm.push((await timed(() => server.references(spot))).ms);
    again.push((await timed(() => server.references(spot))).ms);
  }
  await server.stop();
  return { cold: cold.ms, warm, again };
}

async function textWhileCold(held: Sandbox): Promise<void> {
  await using navigation = new Navigation();
  using place = placeIn(held, root);
  const ask = navigation.in(place);
  for (const asked of ASKED.slice(0, 3)) {
    const { ms, value } = await timed(() => ask.usages(asked, { ...PATIENT, waitMs: 0 }));
    console.log(
      `${`while cold, ${asked.symbol}`.padEnd(44)} ${ms.toFixed(0).padStart(7)} ms   ${value.found}, ${value.usages.length} places`,
    );
  }
}

async function manyWorktrees(held: Sandbox): Promise<void> {
  const count = Number(values.worktrees);
  const budget = Number(values.budget);
  const roots = Array.from({ length: count }, (_, i) => copyTree(root, `copy-${i}`));
  await using navigation = new Navigation({ settings: { budgetBytes: budget * 2 ** 20 } });
  const { ms, value } = await timed(() =>
    Promise.all(
      roots.map(async (each) => {
        using place = placeIn(held, each);
        return await navigation.in(place).usages(RARE, PATIENT);
      }),
    ),
  );
  const semantic = value.filter(({ found, complete }) => found === 'semantic' && complete).length;
  const { highest, started, evicted, failed } = navigation.figures;
  console.log(
    `${count} worktrees at once, budget ${budget} MB: ${semantic} semantic and complete, ${count - semantic} from text; ${(ms / 1_000).toFixed(1)} s; most memory ${(highest / 2 ** 20).toFixed(0)} MB; ${started} servers started, ${evicted} ended for others, ${failed} failed`,
  );
}
