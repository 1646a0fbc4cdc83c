import { Lines } from './lines.ts';
import { isNamePart } from './words.ts';

/** A place in a text. Lines and columns from 1. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

export interface TextSpot extends Spot {
  readonly offset: number;
}

/** Where a place is in a text; null: it has not so many lines. */
export function offsetOf(text: string, { line, column }: Spot): number | null {
  let start = 0;
  for (let i = 1; i < line; i++) {
    const end = text.indexOf('\n', start);
    if (end < 0) return null;
    start = end + 1;
  }
  return start + column - 1;
}

export function offsetsOf(text: string, name: string): number[] {
  const offsets: number[] = [];
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) offsets.push(at);
  return offsets;
}

/** Every place of a name in a text, as a word of its own. */
export function spotsOf(text: string, name: string, lines = new Lines(text)): TextSpot[] {
  return offsetsOf(text, name)
    .filter((offset) => isWhole(text, offset, name))
    .map((offset) => {
      const line = lines.at(offset);
      return { line: line + 1, column: offset - lines.start(line) + 1, offset };
    });
}

/** Nothing that declares a name has so much before it on its line. */
const MOST_BEFORE = 200;

/** Where the line of an offset begins, if that is near; null: it is not. All of a minified file is one line. */
export function lineNear(text: string, offset: number): number | null {
  const near = Math.max(0, offset - MOST_BEFORE);
  const end = text.slice(near, offset).lastIndexOf('\n');
  if (end >= 0) return near + end + 1;
  return near === 0 ? 0 : null;
}

/** The first of them, or of those that are wanted, if it is one of the first. */
export function firstSpot(
  text: string,
  name: string,
  isWanted: (offset: number) => boolean = () => true,
): TextSpot | null {
  let tried = 0;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    if (!isWhole(text, at, name)) continue;
    tried += 1;
    if (tried > MOST_TRIED) return null;
    if (!isWanted(at)) continue;
    const lineStart = text.lastIndexOf('\n', at) + 1;
    let line = 1;
    for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) line += 1;
    return { line, column: at - lineStart + 1, offset: at };
  }
  return null;
}

const MOST_TRIED = 50;

const isWhole = (text: string, at: number, name: string): boolean =>
  !isNamePart(text, at - 1) && !isNamePart(text, at + name.length);
