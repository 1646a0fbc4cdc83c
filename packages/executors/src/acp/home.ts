import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Preset } from './presets.ts';

/** For how long the home of a task that nobody works on is kept: its session may be taken up until then. */
const KEPT_MS = 14 * 24 * 60 * 60 * 1_000;

/**
 * A home for an agent, of one task: its sessions are there when it comes back, and of the person's home it sees its own
 * login, by a link to the file itself, so that a login that is refreshed is refreshed for both.
 */
export function makeHome(
  folder: string,
  preset: Preset,
  personsHome: string,
): { readonly home: string; readonly credentials: readonly string[] } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [path, content] of Object.entries(preset.files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file)) writeFileSync(file, content, { mode: 0o600 });
  }
  const credentials = preset.credentials.filter((path) => existsSync(join(personsHome, path)));
  for (const path of credentials) link(join(folder, path), join(personsHome, path));
  return { home: folder, credentials: credentials.map((path) => join(personsHome, path)) };
}

/** What the agent put in its place, if it did, stays: it is the newer one. */
function link(at: string, target: string): void {
  mkdirSync(dirname(at), { recursive: true });
  const there = lstatSync(at, { throwIfNoEntry: false });
  if (there && !there.isSymbolicLink()) return;
  if (there) rmSync(at);
  symlinkSync(target, at);
}

/** Homes that were not used for weeks go. */
export async function pruneHomes(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true });
  }
}
