import { stripVTControlCharacters } from 'node:util';
import { head, tail } from './fence.ts';

/** Some twenty times what a caller is shown at once. A run has many commands at work at a time, and each holds this much. */
const FIRST = 100_000;
const LAST = 400_000;

/** What a command wrote: its beginning and its end, however much there is between them. */
export class CommandLog {
  #first = '';
  #last = '';
  #left = 0;
  lastLine = '';

  add(text: string): void {
    const line = text.trimEnd().split('\n').at(-1)?.trim();
    if (line) this.lastLine = head(line, 200);
    const room = FIRST - this.#first.length;
    this.#first += room > 0 ? text.slice(0, room) : '';
    this.#last += room > 0 ? text.slice(room) : text;
    // Twice as much may gather before it is cut, so that each character is copied once or twice, not each time.
    if (this.#last.length > 2 * LAST) this.#cut();
  }

  text(): string {
    this.#cut();
    const gap = this.#left > 0 ? `\n[… ${this.#left} characters were not kept …]\n` : '';
    // Colours and titles are for terminals; a model has none, and a person's must not obey an agent's output.
    return stripVTControlCharacters(`${this.#first}${gap}${this.#last}`.toWellFormed());
  }

  #cut(): void {
    const kept = tail(this.#last, LAST);
    this.#left += this.#last.length - kept.length;
    this.#last = kept;
  }
}
