/** Colours by hand: a few codes, or nothing at all where they are not wanted (https://no-color.org). */
const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
export type Colour = keyof typeof CODES;
export type Paint = (colour: Colour, text: string) => string;

export const plain: Paint = (_, text) => text;
export const coloured: Paint = (colour, text) =>
  text === '' ? '' : `\u001b[${CODES[colour]}m${text}\u001b[0m`;

export function paintFor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  return stream.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? coloured : plain;
}

/** Columns a text takes, if it has no codes and its characters are one column wide, as all of ours are. */
export const width = (text: string): number => Array.from(text).length;

/** At most so many columns, with a sign that there was more; nothing in it can move the cursor. */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return '';
  const characters = Array.from(text.replaceAll(/\p{Cc}+/gu, ' '));
  return characters.length <= columns ? characters.join('') : `${characters.slice(0, columns - 1).join('')}…`;
}

export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - width(text)));

export const padStart = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - width(text))) + text;

/** Broken between words, each line behind `indent`. */
export function wrap(text: string, columns: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && width(indent) + width(line) + 1 + width(word) > columns) {
      lines.push(indent + line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, indent + line];
}
