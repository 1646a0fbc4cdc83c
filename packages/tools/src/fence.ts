import { defuse, visible } from '@reveille/protocol';

/**
 * What somebody else wrote is given as data: between two lines that carry an id, with every look-alike inside broken
 * up, in the same words that messages are given in (WAK5).
 */
export function fence(id: string, body: string): string {
  return `<reveille-data ${id}>\n${defuse(body)}\n</reveille-data ${id}>`;
}

/** A name or a few words of somebody else's: one line, of bounded length, in quotes. */
export function quote(text: string, most = 120): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return visible(JSON.stringify(defuse(flat.length > most ? `${head(flat, most)}…` : flat)));
}

/** Not more than this many characters from the start, and no half of one. */
export function head(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd8_00 && last <= 0xdb_ff ? most - 1 : most);
}

/** Not more than this many characters up to the end, and no half of one. */
export function tail(text: string, most: number): string {
  if (text.length <= most) return text;
  const first = text.charCodeAt(text.length - most);
  return text.slice(text.length - (first >= 0xdc_00 && first <= 0xdf_ff ? most - 1 : most));
}

/**
 * Of a text that is shown in part, what its fences need so that none is left open or begins in the middle. Only real
 * fences are found: those inside a body are broken up already.
 */
export function openFences(text: string): string[] {
  const open: string[] = [];
  for (const [, slash, id = ''] of text.matchAll(/<(\/?)reveille-data ([\w-]+)>/g)) {
    if (slash === '') open.push(id);
    else if (open.at(-1) === id) open.pop();
  }
  return open;
}

export const closing = (ids: readonly string[]): string =>
  ids
    .toReversed()
    .map((id) => `\n</reveille-data ${id}>`)
    .join('');

export const opening = (ids: readonly string[]): string =>
  ids.map((id) => `<reveille-data ${id}>\n`).join('');
