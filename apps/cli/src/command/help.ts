import { pad, wrap } from '../view/columns.ts';
import { COMMON, type Command, type OptionSpec } from './spec.ts';

const COLUMNS = 100;

/** Everything there is, by group, in the order of the table. */
export function overview(commands: readonly Command[]): string {
  const groups = Map.groupBy(commands, ({ group }) => group);
  const widest = Math.max(...commands.map(({ name }) => name.length));
  const lines = [...groups].flatMap(([group, members]) => [
    '',
    group,
    ...members.map(({ name, summary }) => `  ${pad(name, widest)}  ${summary}`),
  ]);
  return `Reveille runs many coding agents on one repository at once and never loses a result.

  reveille <command> [options]
${lines.join('\n')}

  --help      this text; reveille <command> --help says more about a command
  --version   the version

Plans, tasks and requests are named by their id, by the beginning of it, or by their name; a task
of a plan also as plan/task. Every command takes --json. Exit codes: 0 well, 1 it failed, 2 not
understood, 3 not found, 4 not allowed, 5 not now, 6 a limit, 7 no daemon, 8 the database, 9 the
worktree, 130 interrupted.
`;
}

export function helpOf({ name, usage, summary, about, options, json }: Command): string {
  const all: readonly (readonly [string, OptionSpec])[] = Object.entries({ ...options, ...COMMON });
  const left = all.map(([option, spec]) => optionWords(option, spec));
  const widest = Math.max(...left.map((words) => words.length));
  const lines = all.flatMap(([, { means }], i) => {
    const [first = '', ...rest] = wrap(means, COLUMNS - widest - 4);
    return [
      `  ${pad(left[i] ?? '', widest)}  ${first}`,
      ...rest.map((line) => `${' '.repeat(widest + 4)}${line}`),
    ];
  });
  return [
    ...wrap(`reveille ${name}: ${summary}`, COLUMNS),
    '',
    `  reveille ${name} ${usage}`.trimEnd(),
    '',
    ...(about === '' ? [] : [...paragraph(about), '']),
    ...lines,
    '',
    ...wrap(`--json prints ${json}`, COLUMNS),
    '',
  ].join('\n');
}

/** As it is written, unless a line is too long: then it is one paragraph. */
function paragraph(text: string): string[] {
  const lines = text.trim().split('\n');
  return lines.every((line) => line.length <= COLUMNS) ? lines : wrap(lines.join(' '), COLUMNS);
}

function optionWords(name: string, { short, value, type }: OptionSpec): string {
  const long = type === 'boolean' ? `--${name}` : `--${name} ${value ?? 'VALUE'}`;
  return short === undefined ? long : `-${short}, ${long}`;
}
