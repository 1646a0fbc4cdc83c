// Navigation on a large real project, beside a bare run of the same server in the same run. Bare is what a client must do that
// has the same question, a name and a file: read the file, look for the place, ask for references and definition (or for the
// definition, and what is shown there), and take the answer in. It reads no line of an answer, looks for no text hits that the
// server did not list, and does not notice when a file changes; all of that is in our time.
//   npm run bench:navigation [-- --project theia,babylon --worktrees 10 --budget 3072 --rounds 7]; 0 leaves a part out
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Navigation } from '@reveille/navigation';
import type { ToolNavigation, Usages } from '@reveille/protocol';
import type { Sandbox } from '@reveille/worktrees';
import { BareServer } from './bare-server.ts';
import { workOf } from './server-work.ts';
import { PROJECT_NAMES, obtain, type Name, type Project } from './navigation-projects.ts';
import { copyTree, openBench, placeIn } from './navigation-world.ts';

const { values } = parseArgs({
  options: {
    worktrees: { type: 'string', default: '10' },
    budget: { type: 'string', default: '3072' },
    rounds: { type: 'string', default: '7' },
    project: { type: 'string', default: PROJECT_NAMES.join(',') },
  },
});
const PATIENT = { signal: new AbortController().signal, waitMs: 600_000 };

/** How long an answer may take beside that of a bare server; and one from text, in milliseconds. */
const MOST_TIMES = 1.2;
const MOST_TEXT_MS = 500;
const COLD_ROUNDS = 5;
const goals = { met: 0, all: 0 };

const sandbox = await openBench();
try {
  for (const name of values.project.split(',')) {
    const asked = whatIsAsked(obtain(name));
    console.log(`\n${name}: ${asked.project.files.length} files, ${asked.project.languageId}`);
    if (Number(values.rounds) > 0) {
      await coldAndWarm(sandbox, asked);
      await textWhileCold(sandbox, asked);
    }
    if (Number(values.worktrees) > 0) await manyWorktrees(sandbox, asked);
  }
  console.log(
    `\n${goals.met} of ${goals.all} goals met (≤ ${MOST_TIMES} × bare; text in < ${MOST_TEXT_MS} ms; all worktrees answered within the budget)`,
  );
} finally {
  await sandbox.close();
}

/** The questions about one project. */
interface Asked {
  readonly project: Project;
  /** The one that is asked while everything is cold. */
  readonly rare: Name;
  /** Whose uses are asked for after that: the other names, and every hundredth file with a class. */
  readonly used: readonly Name[];
  /** Every fifth file with an import: what its last name is, is asked from there. */
  readonly imports: readonly Name[];
  /** Others, asked before: code that was just loaded is slow, in whatever process. */
  readonly before: { readonly used: readonly Name[]; readonly imports: readonly Name[] };
}

function whatIsAsked(project: Project): Asked {
  const IMPORT = /^import \{ (?:[\w$]+, )*(?<name>[\w$]+) \} from ["']\./m;
  const CLASS = /^export class (?<name>\w+)/m;
  const classes = namesIn(project, { every: 100 }, CLASS);
  const imports = namesIn(project, { every: 5 }, IMPORT);
  const before = {
    used: namesIn(project, { every: 50, from: 1 }, CLASS),
    imports: namesIn(project, { every: 20, from: 1 }, IMPORT),
  };
  const [rare, ...others] = project.names;
  return { project, rare, used: [...others, ...classes], imports, before };
}

/** The first name that a pattern finds in every so-manieth file. */
function namesIn(
  { root, files }: Project,
  { every, from = 0 }: { every: number; from?: number },
  pattern: RegExp,
): Name[] {
  return files
    .filter((_, i) => i % every === from)
    .flatMap((file) => {
      const symbol = pattern.exec(readFileSync(join(root, file), 'utf8'))?.groups?.['name'];
      return symbol === undefined ? [] : [{ symbol, file }];
    });
}

/** The median. */
function middleOf(numbers: readonly number[]): number {
  const all = numbers.toSorted((x, y) => x - y);
  const half = Math.floor(all.length / 2);
  return all.length % 2 === 1 ? (all[half] ?? 0) : ((all[half - 1] ?? 0) + (all[half] ?? 0)) / 2;
}

async function timed<T>(act: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const start = performance.now();
  const value = await act();
  return { ms: performance.now() - start, value };
}

/** Milliseconds of one question, ours and bare. */
interface Pair {
  readonly ours: number;
  readonly bare: number;
  /** What the server itself worked for it, which does not depend on what else the machine does. */
  readonly work?: { readonly ours: number; readonly bare: number };
}
interface Round {
  readonly cold: Pair;
  /** Uses of names, when they are asked for the first time, and the same again, as for the next page. */
  readonly uses: readonly Pair[];
  readonly usesAgain: readonly Pair[];
  /** From a file that imports a name to where it is defined, likewise. */
  readonly definitions: readonly Pair[];
  readonly definitionsAgain: readonly Pair[];
}

/** Both are asked in turn, each first in every other round, so that whatever else the machine does meets both. Medians count. */
async function coldAndWarm(held: Sandbox, asked: Asked): Promise<void> {
  const rounds: Round[] = [];
  let answers: readonly Usages[] = [];
  for (let i = 0; i < Number(values.rounds); i++) {
    const done = await pairedRound(held, asked, i % 2 === 0);
    answers = done.answers;
    rounds.push(done.round);
  }
  const middle = (pick: (round: Round) => number | undefined): number =>
    middleOf(rounds.map((round) => pick(round) ?? Infinity));
  const median = (pick: (round: Round) => Pair | undefined): Pair => ({
    ours: middle((round) => pick(round)?.ours),
    bare: middle((round) => pick(round)?.bare),
    work: {
      ours: middle((round) => pick(round)?.work?.ours),
      bare: middle((round) => pick(round)?.work?.bare),
    },
  });
  /** All of them one after another, each as it mostly is: what else the machine does in a moment meets one of them, once. */
  const total = (pick: (round: Round) => readonly Pair[]): Pair => {
    const each = rounds
      .slice(0, 1)
      .flatMap(pick)
      .map((_, i) => median((round) => pick(round)[i]));
    const sum = (which: 'ours' | 'bare'): number => each.reduce((all, pair) => all + pair[which], 0);
    return { ours: sum('ours'), bare: sum('bare') };
  };
  for (const [i, { symbol }] of asked.used.slice(0, asked.project.names.length - 1).entries()) {
    console.log(
      `  ${told(
        `uses of ${symbol}`,
        median(({ uses }) => uses[i]),
      )}`,
    );
    precision(answers[i]);
  }
  show(
    'cold, first semantic answer',
    median(({ cold }) => cold),
  );
  const names = `uses of ${asked.used.length} names`;
  const imports = `definitions of ${asked.imports.length} imports`;
  showWarm('warm answers, each new', {
    [names]: total(({ uses }) => uses),
    [imports]: total(({ definitions }) => definitions),
  });
  showWarm('the same again', {
    [names]: total(({ usesAgain }) => usesAgain),
    [imports]: total(({ definitionsAgain }) => definitionsAgain),
  });
}

/** All of them in sum, and what it consists of. */
function showWarm(what: string, parts: Readonly<Record<string, Pair>>): void {
  const sum = (which: 'ours' | 'bare'): number =>
    Object.values(parts).reduce((all, pair) => all + pair[which], 0);
  show(what, { ours: sum('ours'), bare: sum('bare') });
  for (const [part, pair] of Object.entries(parts)) console.log(`    ${told(part, pair)}`);
}

async function pairedRound(
  held: Sandbox,
  asked: Asked,
  oursFirst: boolean,
): Promise<{ readonly round: Round; readonly answers: readonly Usages[] }> {
  await using navigation = new Navigation();
  const { project, rare } = asked;
  using place = placeIn(held, project);
  const ask = navigation.in(place);
  const askOurs = () => timed(() => ask.usages(rare, PATIENT));
  const askBare = () =>
    timed(async () => {
      const server = await BareServer.start(project);
      server.open(rare.file);
      await server.references(rare.symbol, rare.file);
      return server;
    });
  // What the last round left behind, and what is read in the background after the first answer, must not hold the other up.
  await quiet();
  const first = oursFirst ? null : await askBare();
  if (first) await quiet();
  const ours = await askOurs();
  await quiet();
  const started = first ?? (await askBare());
  await quiet();
  const [pid = 0] = navigation.figures.pids;
  const warm = await warmRound({ ask, pid, bare: started.value, oursFirst, asked });
  await started.value.stop();
  return { round: { cold: { ours: ours.ms, bare: started.ms }, ...warm.round }, answers: warm.answers };
}

interface Both {
  readonly ask: ToolNavigation;
  /** Of our server. */
  readonly pid: number;
  readonly bare: BareServer;
  readonly oursFirst: boolean;
  readonly asked: Asked;
}

async function warmRound({ ask, pid, bare, oursFirst, asked }: Both) {
  const pair = async <T>(own: () => Promise<T>, others: () => Promise<unknown>) => {
    const before = oursFirst ? null : await worked(bare.pid, others);
    const mine = await worked(pid, own);
    const other = before ?? (await worked(bare.pid, others));
    return {
      pair: { ours: mine.ms, bare: other.ms, work: { ours: mine.work, bare: other.work } },
      answer: mine.value,
    };
  };
  const usesOf = (name: Name) =>
    pair(
      () => ask.usages(name, PATIENT),
      () => bare.references(name.symbol, name.file),
    );
  const definitionOf = ({ symbol, file }: Name) =>
    pair(
      () => ask.definitions({ symbol, from: file }, PATIENT),
      () => bare.definition(symbol, file),
    );
  await inTurn(asked.before.used, usesOf);
  await inTurn(asked.before.imports, definitionOf);
  // All that is new first, and then the names again: a server that was asked twice before the next name would know more than the other.
  const uses = await inTurn(asked.used, usesOf);
  const definitions = await inTurn(asked.imports, definitionOf);
  const usesAgain = await inTurn(asked.used, usesOf);
  const definitionsAgain = await inTurn(asked.imports, definitionOf);
  const pairs = (all: readonly { readonly pair: Pair }[]): Pair[] => all.map((each) => each.pair);
  return {
    round: {
      uses: pairs(uses),
      usesAgain: pairs(usesAgain),
      definitions: pairs(definitions),
      definitionsAgain: pairs(definitionsAgain),
    },
    answers: uses.map(({ answer }) => answer),
  };
}

async function inTurn<T>(names: readonly Name[], question: (name: Name) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (const name of names) all.push(await question(name));
  await quiet();
  return all;
}

/** When the machine does next to nothing any more; not for longer than five seconds. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 50; i++) {
    const before = busyMs();
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (busyMs() - before < 20) return;
  }
}

/** What all processors together have worked. */
function busyMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}

function show(what: string, pair: Pair): void {
  goal(told(what, pair), pair.ours <= MOST_TIMES * pair.bare);
}

function told(what: string, { ours, bare, work }: Pair): string {
  const both =
    work && Number.isFinite(work.ours) ? `   server worked ${work.ours}, bare ${work.bare} ms` : '';
  return `${what.padEnd(44)} ${ours.toFixed(0).padStart(7)} ms   bare ${bare.toFixed(0).padStart(7)} ms   ${(ours / bare).toFixed(2)} ×${both}`;
}

function goal(line: string, met: boolean): void {
  goals.all += 1;
  if (met) goals.met += 1;
  console.log(`${met ? '✓' : '✗'} ${line}`);
}

async function worked<T>(
  pid: number,
  act: () => Promise<T>,
): Promise<{ readonly ms: number; readonly work: number; readonly value: T }> {
  const before = workOf(pid);
  const done = await timed(act);
  return { ...done, work: workOf(pid) - before };
}

/** What words alone would have said. */
function precision(answer: Usages | undefined): void {
  if (!answer) return;
  const other = answer.uncovered.reduce((sum, { count }) => sum + count, 0);
  const real = answer.usages.length + answer.definitions.length;
  const share = (100 * real) / (real + other);
  console.log(
    `    ${real} places, ${other} other text hits: words alone are right in ${share.toFixed(0)} %; ${answer.found}, complete: ${answer.complete}${answer.notes.length > 0 ? ` (${answer.notes.join('; ')})` : ''}`,
  );
}

async function textWhileCold(held: Sandbox, { project }: Asked): Promise<void> {
  const rounds: { readonly ms: number; readonly value: Usages }[][] = [];
  for (let i = 0; i < COLD_ROUNDS; i++) {
    await using navigation = new Navigation();
    using place = placeIn(held, project);
    const ask = navigation.in(place);
    await quiet();
    const answers = [];
    for (const name of project.names)
      answers.push(await timed(() => ask.usages(name, { ...PATIENT, waitMs: 0 })));
    rounds.push(answers);
  }
  for (const [i, { symbol }] of project.names.entries()) {
    const answers = rounds.flatMap((round) => round.slice(i, i + 1));
    const ms = middleOf(answers.map((answer) => answer.ms));
    const places = middleOf(answers.map(({ value }) => value.usages.length));
    goal(
      `${`while cold, ${symbol}`.padEnd(44)} ${ms.toFixed(0).padStart(7)} ms   text, ${places} places`,
      ms < MOST_TEXT_MS && answers.every(({ value }) => value.found === 'text'),
    );
  }
}

async function manyWorktrees(held: Sandbox, { project, rare }: Asked): Promise<void> {
  const count = Number(values.worktrees);
  const budget = Number(values.budget);
  const roots = Array.from({ length: count }, (_, i) => copyTree(project.root, `copy-${i}`));
  await using navigation = new Navigation({ settings: { budgetBytes: budget * 2 ** 20 } });
  const { ms, value } = await timed(() =>
    Promise.all(
      roots.map(async (each) => {
        using place = placeIn(held, { root: each, repository: project.repository });
        return await navigation.in(place).usages(rare, PATIENT);
      }),
    ),
  );
  const semantic = value.filter(({ found, complete }) => found === 'semantic' && complete).length;
  const { highest, started, evicted, failed } = navigation.figures;
  goal(
    `${count} worktrees at once, budget ${budget} MB: ${semantic} semantic and complete, ${count - semantic} from text; ${(ms / 1_000).toFixed(1)} s; most memory ${(highest / 2 ** 20).toFixed(0)} MB; ${started} servers started, ${evicted} ended for others, ${failed} failed`,
    semantic === count && highest <= budget * 2 ** 20 && failed === 0,
  );
}
