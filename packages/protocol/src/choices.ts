import type { Request } from './request.ts';

/**
 * What may be answered, as data: every door shows the same choices in the same order, and core alone does what they say
 * (INB1). `id` is what is sent; `takes` says what may be written after it.
 */
export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly takes?: string;
}

/** Of any request that an agent holds: it goes one up the tree at once, not after five minutes. */
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
    },
    { id: 'cancel', label: 'Give it up: it stays failed' },
    { id: 'details', label: 'Show details' },
  ],
  plan: [
    { id: 'approve', label: 'Approve: it starts' },
    { id: 'changes', label: 'Have it changed', takes: 'what is to be different' },
    { id: 'cancel', label: 'Drop it, and the goal with it' },
  ],
  review: [
    { id: 'approve', label: 'Approve' },
    { id: 'changes', label: 'Have it changed', takes: 'what is to be different' },
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
    { id: 'approve', label: 'Allow it, this once' },
    { id: 'deny', label: 'Refuse it', takes: 'why' },
  ],
  escape: [{ id: 'seen', label: 'I have seen it' }],
  conflict: [],
  question: [],
};

/** The usual choices of a kind. */
export const optionsOf = (kind: Request['kind']): string[] => CHOICES[kind].map(({ id }) => id);

/** The choices of a request: of the options it was asked with, each with its label. */
export function choicesOf({ kind, options }: Pick<Request, 'kind' | 'options'>): Choice[] {
  return options.map((id) => CHOICES[kind].find((choice) => choice.id === id) ?? { id, label: id });
}

export interface Chosen {
  readonly id: string;
  /** What was written after it. */
  readonly rest: string;
}

/** Which choice a text is, however it is written; null: none of them. */
export function choiceIn(request: Pick<Request, 'kind' | 'options'>, text: string): Chosen | null {
  const said = text.trim();
  const words = said.toLowerCase();
  const byLength = choicesOf(request).toSorted((a, b) => b.id.length - a.id.length);
  for (const { id, takes } of byLength) {
    const own = id.toLowerCase();
    if (words === own) return { id, rest: '' };
    if (takes === undefined || !words.startsWith(own)) continue;
    const rest = said.slice(id.length);
    if (/^[\s:,]/.test(rest)) return { id, rest: rest.replace(/^[\s:,]+/, '') };
  }
  return null;
}

/** Kinds that only a choice answers: any other word would do nothing. */
export const ONLY_CHOICES: ReadonlySet<Request['kind']> = new Set(['idle', 'failure', 'escape', 'budget']);
