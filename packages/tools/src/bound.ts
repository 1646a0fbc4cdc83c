import { closing, head, openFences, opening, tail } from './fence.ts';
import type { ToolOutput } from './tool.ts';

export const OUTPUT_CHARS = 25_000;
/** Room for the words about the cut. */
const WORDS = 600;

export interface Bounded {
  readonly text: string;
  readonly structured: Record<string, unknown>;
}

export interface Bounds {
  readonly most: number;
  /** Puts the whole text aside and returns the token to get it by. */
  readonly keep: (text: string) => string;
}

/** The one place where outputs are bounded (TOL3): what does not fit is put aside, and the words say how to read on. */
export function bound(output: ToolOutput, bounds: Bounds): Bounded {
  const { text, structured } = output;
  const most = Math.max(bounds.most, 2 * WORDS);
  const fits = text.length <= most;
  if (fits && sizeOf(structured) <= most) return { text, structured };
  const token = bounds.keep(text);
  const shown = fits ? { text, next: 0 } : cut(text, most - WORDS, output.show ?? 'head');
  const more = { token, offset: shown.next, total: text.length };
  const how = `read_more {"token":"${token}","offset":${shown.next}}`;
  const words = fits ? '' : `\n[Cut: the whole output has ${text.length} characters. For the rest: ${how}]`;
  return { text: `${shown.text}${words}`, structured: { ...fit(structured, most - WORDS), more } };
}

/** A part of a text in which every fence is whole. `next` is where what is left out begins. */
function cut(text: string, most: number, show: 'head' | 'ends'): { text: string; next: number } {
  const first = head(text, show === 'head' ? most : Math.floor(most / 5));
  const upper = `${first}${closing(openFences(first))}`;
  if (show === 'head') return { text: upper, next: first.length };
  const last = tail(text, most - first.length);
  const left = text.length - first.length - last.length;
  const lower = `${opening(openFences(text.slice(0, text.length - last.length)))}${last}`;
  return { text: `${upper}\n[… ${left} characters left out …]\n${lower}`, next: first.length };
}

const sizeOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

/** Data that is too long: its long strings are cut first, then its long lists, until it fits. */
function fit(data: Record<string, unknown>, most: number): Record<string, unknown> {
  for (let longest = Math.floor(most / 2); longest >= 50; longest = Math.floor(longest / 2)) {
    const shorter = shorten(data, { string: longest, list: Infinity });
    if (sizeOf(shorter) <= most) return shorter;
  }
  let shorter = data;
  for (let list = 512; list >= 0; list = Math.floor(list / 2) || list - 1) {
    shorter = shorten(data, { string: 50, list });
    if (sizeOf(shorter) <= most) break;
  }
  return shorter;
}

type Most = { readonly string: number; readonly list: number };

function shorten(data: Record<string, unknown>, most: Most): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, short(value, most)]));
}

function short(value: unknown, most: Most): unknown {
  if (typeof value === 'string') return shortString(value, most.string);
  if (Array.isArray(value)) return value.slice(0, most.list).map((entry) => short(entry, most));
  return isRecord(value) ? shorten(value, most) : value;
}

function shortString(text: string, most: number): string {
  if (text.length <= most) return text;
  const first = head(text, most);
  return `${first}…${closing(openFences(first))}`;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
