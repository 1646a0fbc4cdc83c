import type { Stream } from './io.ts';
import { harmless } from './view/columns.ts';

// oxlint-disable-next-line no-control-regex -- these are the codes themselves
const COLOURS = /(\u001b\[\d+m)/;

/** A line. What a terminal would obey in it stays out of it, our own colours excepted: agents and files have a say in most. */
export function say(stream: Stream, text: string): void {
  stream.write(`${stream.isTTY ? tame(text) : text}\n`);
}

const tame = (text: string): string =>
  text
    .split(COLOURS)
    .map((part, i) => (i % 2 === 1 ? part : harmless(part)))
    .join('');
