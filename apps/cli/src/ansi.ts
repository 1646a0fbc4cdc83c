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
