// The attacker of swapper.ts: swaps until its input ends, then says how often.
import { renameSync, symlinkSync, writeFileSync } from 'node:fs';

const [kind = '', a = '', b = '', c = ''] = process.argv.slice(2);
const spare = `${a}.spare`;
const clock = new Int32Array(new SharedArrayBuffer(4));
let count = 0;

const SWAPS: Record<string, () => void> = {
  exchange: () => {
    rename(a, spare);
    rename(b, a);
    rename(spare, b);
  },
  relink: () => {
    symlinkSync(count % 2 ? b : c, spare);
    renameSync(spare, a);
  },
  leaf: () => {
    if (count % 2) symlinkSync(b, spare);
    else writeFileSync(spare, 'plain');
    renameSync(spare, a);
  },
};

/** In the moment without an entry a door may make a folder of that name, and again; it is put away. */
function rename(from: string, to: string): void {
  for (let left = 1_000; ; left -= 1) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      if (left === 0) throw error;
      renameSync(to, `${to}.${count}.${left}`);
    }
  }
}

function swap(): void {
  for (let i = 0; i < 64; i += 1) {
    SWAPS[kind]?.();
    Atomics.wait(clock, 0, 0, 0.02);
    count += 1;
  }
  if (count === 64) console.log('ready');
}

// After 'ready' each round lets the end of the input be heard.
swap();
const rounds = setInterval(swap, 0);
process.stdin.resume().once('end', () => {
  clearInterval(rounds);
  console.log(count);
});
