import { clean } from './clean.ts';

/** Colours that programs ask a terminal for; everything else of their language is left out. */
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- an escape is what it is about
  /\u001b(?:\[([0-9;:]{0,40})m|\[[0-9;:?<=>!]{0,40}[@-~]|\][^\u0007\u001b]{0,4000}(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;

interface Stretch {
  readonly text: string;
  readonly style: string;
}

/** Text with colours as stretches of it. */
export function stretches(text: string): Stretch[] {
  const found: Stretch[] = [];
  let style = '';
  let from = 0;
  const add = (upTo: number): void => {
    const piece = clean(text.slice(from, upTo));
    if (piece !== '') found.push({ text: piece, style });
  };
  for (const match of text.matchAll(ESCAPES)) {
    add(match.index);
    from = match.index + match[0].length;
    if (match[1] !== undefined) style = styleAfter(style, match[1]);
  }
  add(text.length);
  return found;
}

/** 0 ends all, 1 and 2 are weights, 30 to 37 and 90 to 97 colours. */
function styleAfter(style: string, codes: string): string {
  let now = style;
  for (const code of codes.split(/[;:]/).map(Number)) {
    if (code === 0) now = '';
    else if (code === 1 || code === 2) now = `${now} ansi-${code === 1 ? 'bold' : 'dim'}`.trim();
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) now = `ansi-${code % 10}`;
    else if (code === 39) now = '';
  }
  return now;
}
