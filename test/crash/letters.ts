import type { Delivery } from '@reveille/protocol';

/** A message as an agent understands it: from the text of its turn, or from the answer of a call. */
export interface Letter {
  readonly id: string;
  readonly kind: string;
  /** It says of itself that it may have been seen before. */
  readonly again: boolean;
  readonly task: string | null;
  readonly status: string | null;
  readonly request: string | null;
}

const FENCED = /^(.*)\n<reveille-data (msg_[0-9a-z]+)>\n/gm;
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/; it ended: (\w+)\. Its response:$/, 'end'],
  [/ asks you \(answer with request (\w+)\):$/, 'question'],
  [/ answers your request (\w+):$/, 'answer'],
  [/^Reveille says:$/, 'inquiry'],
];

export function lettersIn(text: string): Letter[] {
  return [...text.matchAll(FENCED)].map(([, line = '', id = '']) => {
    const again = line.endsWith(' (given again: you may have seen it before)');
    const headline = line.replace(/ \(given again: you may have seen it before\)$/, '');
    const task = /\((task_[0-9a-z]+)\)/.exec(headline)?.[1] ?? null;
    const [kind, value] = kindOf(headline);
    const status = kind === 'end' ? value : null;
    return { id, kind, again, task, status, request: kind === 'end' ? null : value };
  });
}

function kindOf(headline: string): [kind: string, value: string | null] {
  for (const [ending, kind] of KINDS) {
    const match = ending.exec(headline);
    if (match) return [kind, match[1] ?? null];
  }
  return ['other', null];
}

export function letterOf({ message, end, text }: Delivery): Letter {
  const { id, kind, task, request } = message;
  const again = /^.* \(given again: you may have seen it before\)$/m.test(text);
  return { id, kind, again, task, status: end?.status ?? null, request };
}

/** The task itself, handed over with the run's id as its name. */
export const assignmentOf = (run: string): Letter => ({
  id: run,
  kind: 'assignment',
  again: false,
  task: null,
  status: null,
  request: null,
});
