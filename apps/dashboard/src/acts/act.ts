import type { Client } from '@reveille/protocol';

/**
 * Something a person can do: when it can be done, what is asked before, and the call. The buttons, the palette and the keys
 * are made from it. What is said afterwards is what the daemon answered, never a hope.
 */
export interface Act<T> {
  readonly id: string;
  readonly label: string;
  /** Pressed where its target is shown. */
  readonly key?: string;
  readonly when: (target: T) => boolean;
  /** Asked first: what it does that cannot be taken back. */
  readonly confirm?: (target: T) => string;
  /** What is written with it. */
  readonly fields?: readonly Field<T>[];
  /** What is wrong with what was written; null: nothing. */
  readonly check?: (said: Said) => string | null;
  /** Does harm if meant otherwise. */
  readonly harm?: boolean;
  /** Likely what the person came for. */
  readonly first?: boolean;
  /** Seldom what the person came for: behind “More”. */
  readonly rare?: boolean;
  readonly run: (client: Client, target: T, said: Said) => Promise<string>;
}

/** What was written, by field, without the blanks around it. */
export type Said = Readonly<Record<string, string>>;

export interface Field<T> {
  readonly name: string;
  readonly label: string;
  readonly needed?: boolean;
  /** More than a line. */
  readonly long?: boolean;
  readonly hint?: string;
  /** What it is likely to be; `only`: what it must be. */
  readonly among?: (client: Client, target: T) => Promise<readonly Option[]>;
  readonly only?: boolean;
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** Words that go with an act. */
export const words = (label: string, needed = false): readonly Field<unknown>[] => [
  { name: 'words', label, needed, long: true },
];

export const wordsIn = (said: Said): string => said['words'] ?? '';
/** The last argument of a call, if there is anything to say. */
export const ifSaid = (said: Said): [] | [string] => (wordsIn(said) === '' ? [] : [wordsIn(said)]);
