import type { Request } from './request.ts';

/**
 * One answer that a request offers. Every interface shows the same choices in the same order and takes the id, the number or the
 * label of one (INB3); core alone does what a choice says (INB1).
 */
export interface Choice {
  readonly id: string;
  readonly label: string;
  /** Words that may be written after the choice. */
  readonly takes?: string;
  /** The choice says nothing without words after it. */
  readonly needsWords?: true;
  /** Other words for it. */
  readonly aliases?: readonly string[];
  /** Words follow it only after a colon: "ok, but not on main" is no yes. */
  readonly colonOnly?: true;
}

/** The agent that holds a request sends it one up the tree at once, not after five minutes. */
export const PASS_ON = 'pass on';

type Table = { readonly [K in Request['kind']]: readonly Choice[] };

const CHOICES: Table = {
  idle: [
    { id: 'keep waiting', label: 'Keep waiting' },
    { id: 'remind', label: 'Ask it once more' },
    { id: 'mark complete', label: 'Mark complete: its last words are the result' },
    { id: 'cancel', label: 'Cancel it' },
  ],
  failure: [
    { id: 'retry', label: 'Retry' },
    {
      id: 'retry with',
      label: 'Retry with another agent or model',
      takes: '[backend:]agent, or model NAME, or both',
      needsWords: true,
    },
    { id: 'cancel', label: 'Give it up: it stays failed' },
    { id: 'details', label: 'Show details' },
  ],
  plan: [
    { id: 'approve', label: 'Approve: it starts' },
    { id: 'changes', label: 'Have it changed', takes: 'what is to be different', needsWords: true },
    { id: 'cancel', label: 'Drop it, and the goal with it' },
  ],
  review: [
    { id: 'approve', label: 'Approve' },
    { id: 'changes', label: 'Have it changed', takes: 'what is to be different', needsWords: true },
    { id: 'reject', label: 'Reject: it has failed' },
  ],
  budget: [
    {
      id: 'raise',
      label: 'Raise it and go on',
      takes: 'nothing (as the request says), or tokens=N usd=N turns=N spawns=N minutes=N',
    },
    { id: 'stop', label: 'Stop here, with what there is' },
  ],
  approval: [
    {
      id: 'approve',
      label: 'Allow it, this once',
      takes: 'what to mind',
      colonOnly: true,
      aliases: ['approved', 'allow', 'allowed', 'yes', 'y', 'ok'],
    },
    {
      id: 'deny',
      label: 'Refuse it',
      takes: 'why',
      aliases: ['denied', 'reject', 'rejected', 'refuse', 'refused', 'no', 'n'],
    },
  ],
  escape: [{ id: 'seen', label: 'I have seen it' }],
  conflict: [],
  question: [],
};

/** The ids of the usual choices of a kind. */
export const optionsOf = (kind: Request['kind']): string[] => CHOICES[kind].map(({ id }) => id);

type Choosable = Pick<Request, 'kind' | 'options' | 'labels' | 'freeText'>;

/** The choices of a request, in the order of its options. */
export function choicesOf({ kind, options, labels }: Choosable): Choice[] {
  return options.map((id, i) => {
    const usual = CHOICES[kind].find((choice) => choice.id === id);
    return usual ?? { id, label: labels?.[i] ?? id };
  });
}

/** Choices have numbers, from 1, unless one of them is a number itself: "2" must not mean two things. */
export const areNumbered = (choices: readonly Choice[]): boolean =>
  !choices.some(({ id, label }) => /^\d+$/.test(id.trim()) || /^\d+$/.test(label.trim()));

/** A request without choices is answered in words, and one that says so may be. */
export const takesFreeText = ({ options, freeText }: Choosable): boolean =>
  options.length === 0 || freeText === true;

export interface Chosen {
  readonly id: string;
  /** The words that were written after the choice. */
  readonly rest: string;
}

/** The choice that a text names by id, number, label or alias, with or without words after it; null if it names none. */
export function choiceIn(request: Choosable, text: string): Chosen | null {
  const said = text.trim();
  const choices = choicesOf(request);
  const numbered = areNumbered(choices);
  const names = choices.flatMap((choice, i) => [
    { choice, name: choice.id },
    ...(numbered ? [{ choice, name: String(i + 1) }] : []),
    ...[choice.label, ...(choice.aliases ?? [])].map((name) => ({ choice, name })),
  ]);
  const exact = names.find(({ name }) => isSame(said, name));
  if (exact) return { id: exact.choice.id, rest: '' };
  // The longest name first: "retry with coder" is no "retry".
  for (const { choice, name } of names.toSorted((a, b) => b.name.length - a.name.length)) {
    if (choice.takes === undefined || !isSame(said.slice(0, name.length), name)) continue;
    const rest = said.slice(name.length);
    const separator = choice.colonOnly ? /^\s*:/ : /^[\s:,]/;
    if (separator.test(rest)) return { id: choice.id, rest: rest.replace(/^[\s:,]+/, '') };
  }
  return null;
}

const isSame = (said: string, name: string): boolean =>
  said.toLowerCase().replace(/[.!]$/, '') === name.trim().toLowerCase().replace(/[.!]$/, '');

/** A look at a failure, after which it still waits for an answer. */
export const isLook = ({ kind }: Choosable, chosen: Chosen | null): boolean =>
  kind === 'failure' && chosen?.id === 'details';

/** A line for each choice, as a person or an agent may send it: `2. changes: <what is to be different>`. */
export function choiceLines(request: Choosable): string[] {
  const choices = choicesOf(request);
  const numbered = areNumbered(choices);
  const { labels } = request;
  return choices.map((choice, i) => {
    const { id, label, takes, needsWords } = choice;
    const words = takes === undefined ? '' : needsWords ? `: <${takes}>` : `[: <${takes}>]`;
    const number = numbered ? `${i + 1}. ` : '';
    if (labels !== undefined) return `${number}${label}`;
    return `${number}${id}${words}${label.toLowerCase() === id.toLowerCase() ? '' : ` (${label})`}`;
  });
}
