/** Bytes of names: letters, digits, `_`, `$`, and whatever is not ASCII. */
const NAME_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return byte >= 0x80 || /[A-Za-z0-9_$]/.test(character) ? 1 : 0;
});

/** FNV-1a over one word; `>>> 0` at the end keeps it a number that a Uint32Array holds. */
const SEED = 0x811c9dc5;
const step = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

/** The hashes of all words of a text, sorted: what a file can be asked whether it may hold a word. 1 KB for 300 words. */
export function wordHashes(bytes: Buffer): Uint32Array {
  const seen = new Set<number>();
  let hash = SEED;
  let inside = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (NAME_BYTE[byte] === 1) {
      hash = step(hash, byte);
      inside = true;
    } else if (inside) {
      seen.add(hash >>> 0);
      hash = SEED;
      inside = false;
    }
  }
  if (inside) seen.add(hash >>> 0);
  return Uint32Array.from(seen).sort();
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

/** A text that is looked for as a whole: the words in it, and whether its ends must be ends of words. */
export interface Needle {
  readonly bytes: Buffer;
  readonly hashes: readonly number[];
}

export function needleOf(text: string): Needle {
  const bytes = Buffer.from(text);
  return { bytes, hashes: [...wordHashes(bytes)] };
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

/** Where a needle is in a text as words of its own: offsets in bytes. */
export function* occurrences(bytes: Buffer, { bytes: needle }: Needle): Generator<number> {
  const first = NAME_BYTE[needle[0] ?? 0] === 1;
  const last = NAME_BYTE[needle[needle.length - 1] ?? 0] === 1;
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
    const before = at > 0 && NAME_BYTE[bytes[at - 1] ?? 0] === 1;
    const after = NAME_BYTE[bytes[at + needle.length] ?? 0] === 1;
    if (!(first && before) && !(last && after)) yield at;
  }
}
