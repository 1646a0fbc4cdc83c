// Writes a small tree of files into a temporary folder, for the self-tests of the checks.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export function makeTree(files) {
  const root = mkdtempSync(join(tmpdir(), 'reveille-checks-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}
