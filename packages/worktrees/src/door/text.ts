import { isUtf8 } from 'node:buffer';
import { wrongState } from './refusal.ts';

interface Part {
  readonly path: string;
  readonly bytes: Buffer;
  readonly offset: number;
  readonly size: number;
}

/** What was read of a file: all of it, or a part. */
export class FileContent {
  /** The true path from the root. */
  readonly path: string;
  readonly bytes: Buffer;
  /** Where the part begins in the file. */
  readonly offset: number;
  /** Of the whole file, when it was opened. */
  readonly size: number;

  constructor({ path, bytes, offset, size }: Part) {
    this.path = path;
    this.bytes = bytes;
    this.offset = offset;
    this.size = size;
  }

  /** There is more after this part. */
  get truncated(): boolean {
    return this.offset + this.bytes.length < this.size;
  }

  /**
   * As UTF-8, exactly: written back it gives the same bytes, a byte order mark included. Anything else is
   * `wrong_state`, because an edit would destroy it. A character cut by the ends of a part is left out.
   */
  text(): string {
    const bytes = this.bytes.subarray(this.offset === 0 ? 0 : restOfCharacter(this.bytes));
    // Several times as fast as a decoder that is to tell whether it is text.
    if (!this.truncated && isUtf8(bytes)) return bytes.toString();
    try {
      const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
      return decoder.decode(bytes, { stream: this.truncated });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw wrongState(this.path, 'is not UTF-8 text.');
    }
  }
}

/** How many bytes at the start belong to a character that began before. */
function restOfCharacter(bytes: Uint8Array): number {
  const start = bytes.subarray(0, 3).findIndex((byte) => (byte & 0xc0) !== 0x80);
  return start === -1 ? Math.min(3, bytes.length) : start;
}
