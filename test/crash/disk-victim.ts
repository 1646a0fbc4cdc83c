import { closeSync, openSync, rmSync, writeSync } from 'node:fs';

/**
 * The victim, on a disk that it fills at SIGUSR2, and frees at the next: BALLAST=path. Not SIGUSR1: that is Node's own.
 */
const path = process.env['BALLAST'] ?? '';
let full = false;
process.on('SIGUSR2', () => {
  full = !full;
  if (full) fill();
  else rmSync(path);
  writeSync(1, full ? 'full\n' : 'free\n');
});
// It must not keep the process alive: handlers of signals do not.
await import('./victim.ts');

function fill(): void {
  const file = openSync(path, 'w');
  for (const size of [65_536, 4_096, 512]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch {
      // No room for so much.
    }
  }
  closeSync(file);
}
