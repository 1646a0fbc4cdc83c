import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

export interface RotatingOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/**
 * A file that is begun anew when it is full; `daemon.log` is the newest, then `daemon.log.1`, and so on. Writes are
 * made at once and by the operating system: what a process said before it died is there.
 */
export class RotatingFile {
  readonly #options: RotatingOptions;
  #file: number | null = null;
  #size = 0;

  constructor(options: RotatingOptions) {
    this.#options = options;
    this.#open();
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#size > 0 && this.#size + bytes.length > this.#options.maxBytes) this.#rotate();
    if (this.#file === null) this.#open();
    if (this.#file !== null) this.#size += writeSync(this.#file, bytes);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #open(): void {
    this.#file = openSync(this.#options.path, 'a', 0o600);
    this.#size = fstatSync(this.#file).size;
  }

  #rotate(): void {
    const { path, maxFiles } = this.#options;
    this.close();
    rmSync(name(path, maxFiles - 1), { force: true });
    for (let n = maxFiles - 2; n >= 0; n--) move(name(path, n), name(path, n + 1));
    this.#size = 0;
  }
}

const name = (path: string, n: number): string => (n === 0 ? path : `${path}.${n}`);

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // There are not that many yet.
  }
}
