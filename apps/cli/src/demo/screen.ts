import type { WriteStream } from 'node:tty';
import { width } from '../view/columns.ts';
import type { Size } from '../view/frame.ts';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
/** A terminal that knows these shows the frame at once; the others ignore them. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/**
 * Draws frames over each other, in place, without taking the screen: what was above stays, and the last frame is
 * left where it is. Only lines that changed are written, so nothing flickers.
 */
export class Screen {
  readonly #out: WriteStream;
  #drawn: readonly string[] = [];
  #columns: number;
  /** It was stopped and goes on: whatever the shell wrote meanwhile stays, and the next frame is drawn below. */
  readonly #afresh = (): void => {
    this.#drawn = [];
    this.#out.write(HIDE_CURSOR);
  };
  readonly #restore = (): void => void this.#out.write(SHOW_CURSOR);

  constructor(out: WriteStream) {
    this.#out = out;
    this.#columns = out.columns;
    process.once('exit', this.#restore);
    process.on('SIGCONT', this.#afresh);
    out.write(HIDE_CURSOR);
  }

  get size(): Size {
    return { columns: this.#out.columns || 80, rows: this.#out.rows || 24 };
  }

  draw(lines: readonly string[]): void {
    const resized = this.#columns !== this.#out.columns;
    this.#columns = this.#out.columns;
    const up = resized ? this.#rowsNow() : this.#drawn.length;
    const back = up > 0 ? `\u001b[${up}A\r` : '\r';
    const body = lines.map((line, i) =>
      !resized && this.#drawn[i] === line ? '\n' : `${line}${CLEAR_LINE}\n`,
    );
    // Cleared first after a resize: the terminal may have wrapped the old lines.
    this.#out.write(`${BEGIN}${back}${resized ? CLEAR_BELOW : ''}${body.join('')}${CLEAR_BELOW}${END}`);
    this.#drawn = lines;
  }

  close(): void {
    process.off('exit', this.#restore);
    process.off('SIGCONT', this.#afresh);
    this.#restore();
  }

  /** How many rows the last frame takes at the present width, if the terminal wrapped what became too long. */
  #rowsNow(): number {
    const columns = this.#out.columns || 80;
    const length = (line: string): number => width(line.replaceAll(CODES, ''));
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(length(line) / columns)), 0);
    return Math.min(rows, (this.#out.rows || 24) - 1);
  }
}

// oxlint-disable-next-line no-control-regex -- these are the codes themselves
const CODES = /\u001b\[[0-9;]*m/g;
