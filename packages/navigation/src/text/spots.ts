/** A place in a text. Lines and columns from 1. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

export interface TextSpot extends Spot {
  readonly offset: number;
}

export function offsetsOf(text: string, name: string): number[] {
  const offsets: number[] = [];
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) offsets.push(at);
  return offsets;
}

/** Every place of a name in a text, as a word of its own. */
export function spotsOf(text: string, name: string): TextSpot[] {
  const spots: TextSpot[] = [];
  let line = 1;
  let lineStart = 0;
  for (const offset of offsetsOf(text, name)) {
    if (isPart(text, offset - 1) || isPart(text, offset + name.length)) continue;
    for (
      let end = text.indexOf('\n', lineStart);
      end >= 0 && end < offset;
      end = text.indexOf('\n', lineStart)
    ) {
      line += 1;
      lineStart = end + 1;
    }
    spots.push({ line, column: offset - lineStart + 1, offset });
  }
  return spots;
}

/** The first of them. */
export function firstSpot(text: string, name: string): TextSpot | null {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    if (isPart(text, at - 1) || isPart(text, at + name.length)) continue;
    const lineStart = text.lastIndexOf('\n', at) + 1;
    let line = 1;
    for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) line += 1;
    return { line, column: at - lineStart + 1, offset: at };
  }
  return null;
}

const isPart = (text: string, at: number): boolean =>
  at >= 0 && at < text.length && /[\p{L}\p{N}_$\u{80}-\u{10ffff}]/u.test(text[at] ?? '');
