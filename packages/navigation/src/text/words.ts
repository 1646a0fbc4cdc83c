/** Bytes of names: letters, digits, `_`, `$`, and whatever is not ASCII. */
const NAME_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return byte >= 0x80 || /[A-Za-z0-9_$]/.test(character) ? 1 : 0;
});

/** FNV-1a over one word; `>>> 0` at the end keeps it a number that a Uint32Array holds. */
const SEED = 0x811c9dc5;
const step = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

/** A table of the words seen so far, for one text at a time; the empty place is 0, which stands for no word. */
const TABLE = 1 << 12;
let table = new Int32Array(TABLE);

/** The hashes of all words of a text, sorted: what a file can be asked whether it may hold a word. 1 KB for 300 words. */
export function wordHashes(bytes: Buffer): Uint32Array {
  const seen: number[] = [];
  if (table.length > TABLE) table = new Int32Array(TABLE);
  else table.fill(0);
  let hash = SEED;
  let inside = false;
  for (let i = 0; i <= bytes.length; i++) {
    const byte = i < bytes.length ? (bytes[i] ?? 0) : 0;
    if (NAME_BYTE[byte] === 1) {
      hash = step(hash, byte);
      inside = true;
    } else if (inside) {
      if (isNew(hash)) seen.push(hash >>> 0);
      if (seen.length * 2 > table.length) grow(seen);
      hash = SEED;
      inside = false;
    }
  }
  return Uint32Array.from(seen).sort();
}

function isNew(hash: number): boolean {
  const mask = table.length - 1;
  // A word whose hash is 0 is listed each time it stands there: that does no harm.
  for (let at = hash & mask; ; at = (at + 1) & mask) {
    const there = table[at];
    if (there === hash) return hash === 0;
    if (there !== 0) continue;
    table[at] = hash;
    return true;
  }
}

function grow(seen: readonly number[]): void {
  table = new Int32Array(table.length * 2);
  for (const hash of seen) isNew(hash | 0);
}

export function hasHash(hashes: Uint32Array, wanted: number): boolean {
  let low = 0;
  let high = hashes.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const value = hashes[middle] ?? 0;
    if (value === wanted) return true;
    if (value < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

/** A text that is looked for as a whole: the words in it. */
export interface Needle {
  readonly text: string;
  readonly bytes: Buffer;
  readonly hashes: readonly number[];
}

export function needleOf(text: string): Needle {
  const bytes = Buffer.from(text);
  return { text, bytes, hashes: [...wordHashes(bytes)] };
}

/** A hash of the whole content, in two halves of 32 bits: enough to say that two files are the same. */
export function contentHash(bytes: Buffer): string {
  let one = SEED;
  let other = 0x9dc5811c;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    one = step(one, byte);
    other = Math.imul(other ^ byte, 0x85ebca6b) ^ (other >>> 13);
  }
  return `${bytes.length}:${one >>> 0}:${other >>> 0}`;
}

/** Where a needle is in a text as words of its own. */
export function* occurrences(text: string, { text: needle }: Needle): Generator<number> {
  const first = isNamePart(needle, 0);
  const last = isNamePart(needle, needle.length - 1);
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    const before = at > 0 && isNamePart(text, at - 1);
    const after = isNamePart(text, at + needle.length);
    if (!(first && before) && !(last && after)) yield at;
  }
}

/** As with bytes: whatever is not ASCII is a part of a name; nothing before the beginning and after the end is. */
export function isNamePart(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x80 || NAME_BYTE[code] === 1;
}
