import type { Paint } from '../ansi.ts';
import { oneLine, pad, width, wrap } from '../view/columns.ts';

/** One thing that was looked at. The room of worktrees gives its findings in the same form. */
export interface Finding {
  readonly area: string;
  readonly name: string;
  /** `weak`: it works, with less than there could be. `bad`: something does not work. */
  readonly verdict: 'good' | 'weak' | 'bad';
  readonly expected: string;
  readonly got: string;
  /** What to do about it; empty if nothing. */
  readonly advice: string;
  /** The line to paste for it. */
  readonly command?: string;
}

interface Look {
  readonly columns: number;
  readonly paint: Paint;
  /** Every check on a line of its own. */
  readonly all: boolean;
}

const COLOURS = { good: 'green', weak: 'yellow', bad: 'red' } as const;
const WORST_FIRST = ['bad', 'weak', 'good'] as const;
/** Where each check says something by itself. Of others, such as the attacks on the sandbox, those that held are counted. */
const TOLD_ONE_BY_ONE: ReadonlySet<string> = new Set(['system', 'daemon', 'agents', 'navigation']);
const [NARROWEST, WIDEST] = [40, 120];
const NAME = 16;
const INDENT = ' '.repeat(6);

/** What does not work first, then what could be better, then the rest; last what to do first. */
export function reportLines(findings: readonly Finding[], look: Look): string[] {
  const columns = Math.min(WIDEST, Math.max(NARROWEST, look.columns));
  const told = look.all ? findings : folded(findings);
  const blocks = WORST_FIRST.map((verdict) =>
    told
      .filter((finding) => finding.verdict === verdict)
      .flatMap((each) => rowLines(each, columns, look.paint)),
  ).filter((lines) => lines.length > 0);
  return [...blocks.flatMap((lines) => [...lines, '']), ...wrap(summary(findings), columns)];
}

/** What held, counted by area. */
function folded(findings: readonly Finding[]): Finding[] {
  const isFolded = ({ area, verdict }: Finding): boolean => verdict === 'good' && !TOLD_ONE_BY_ONE.has(area);
  const areas = Map.groupBy(findings.filter(isFolded), ({ area }) => area);
  const counts = [...areas].map(([area, { length }]): Finding => {
    const got = `${length} ${length === 1 ? 'check' : 'checks'} held; --all lists them`;
    return { area, name: area, verdict: 'good', expected: '', got, advice: '' };
  });
  return [...findings.filter((finding) => !isFolded(finding)), ...counts];
}

function rowLines({ verdict, name, got, advice, command }: Finding, columns: number, paint: Paint): string[] {
  const head = `${paint(COLOURS[verdict], pad(verdict, 4))}  `;
  const indent = width(name) > NAME ? INDENT : `${INDENT}${' '.repeat(NAME + 2)}`;
  const text = [...got.split('\n'), ...(advice === '' ? [] : [advice])].flatMap((line) =>
    wrap(oneLine(line), columns, indent),
  );
  const body = [...text, ...(command === undefined ? [] : [`${indent}${command}`])];
  if (width(name) > NAME)
    return [...wrap(name, columns, INDENT).map((line, i) => (i === 0 ? head + line.trim() : line)), ...body];
  const [first = '', ...rest] = body;
  return [`${head}${pad(name, NAME)}  ${first.trim()}`, ...rest];
}

function summary(findings: readonly Finding[]): string {
  const counts = WORST_FIRST.toReversed().flatMap((verdict) => {
    const { length } = findings.filter((finding) => finding.verdict === verdict);
    return length > 0 ? [`${length} ${verdict}`] : [];
  });
  const toDo = WORST_FIRST.flatMap((verdict) => findings.filter((finding) => finding.verdict === verdict));
  // What does not work says itself what to do where it has no advice.
  const first = toDo.find(
    ({ verdict, advice, command }) => verdict === 'bad' || (verdict === 'weak' && (advice !== '' || command)),
  );
  if (!first) return `${counts.join(', ')}. Nothing to do.`;
  const words = [first.advice, first.command ?? ''].filter((each) => each !== '').join(' ') || first.got;
  return `${counts.join(', ')}. First, ${first.name}: ${oneLine(words)}`;
}
