import type { Finding } from './examine.ts';

const AREAS: readonly (readonly [Finding['area'], string])[] = [
  ['system', 'System'],
  ['files', 'File system of the worktrees'],
  ['sandbox', 'Sandbox'],
  ['boundary', 'What is enforced here (each was tried)'],
];

const MARKS = { good: 'ok  ', weak: 'weak', bad: 'BAD ' } as const;

/** For a terminal: what was found by area, with what to do about what is not good, and a count at the end. */
export function formatDoctor(findings: readonly Finding[]): string {
  const areas = AREAS.flatMap(([area, title]) => {
    const lines = findings.filter((finding) => finding.area === area);
    return lines.length === 0 ? [] : [`${title}\n${lines.map(line(lines)).join('\n')}`];
  });
  return `${areas.join('\n\n')}\n\n${summary(findings)}\n`;
}

/** As wide as the longest name of its area. */
function line(all: readonly Finding[]): (finding: Finding) => string {
  const width = Math.max(...all.map(({ name }) => name.length));
  return ({ name, verdict, expected, got, advice }) => {
    const result = got === expected || verdict === 'good' ? got : `${got}, expected ${expected}`;
    const said = plain(advice);
    return `  ${MARKS[verdict]}  ${name.padEnd(width)}  ${plain(result)}${said === '' ? '' : `\n        ${said}`}`;
  };
}

/** One line without what would move a cursor: part of it was said by a program that tried to break out. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

function summary(findings: readonly Finding[]): string {
  const count = (verdict: Finding['verdict']): number =>
    findings.filter((finding) => finding.verdict === verdict).length;
  const [good, weak, bad] = [count('good'), count('weak'), count('bad')];
  if (findings.some(({ name, got }) => name === 'sandbox' && got === 'none'))
    return 'Nothing keeps the commands of agents in their worktree here: there is no sandbox.';
  return bad > 0
    ? `${bad} of ${findings.length} do not hold.`
    : `${good} hold, ${weak} are weaker than they could be.`;
}
