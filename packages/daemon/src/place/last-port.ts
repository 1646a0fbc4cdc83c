import { readPrivately, writePrivately } from './private-file.ts';

/**
 * The port of the last daemon, so that the next one is found by pages that were open: to a browser another port is
 * another site. 0: there was none, or nobody can say.
 */
export function lastPort(path: string): number {
  try {
    const port = Number(readPrivately(path)?.text ?? 0);
    return Number.isInteger(port) && port >= 1_024 && port < 65_536 ? port : 0;
  } catch {
    return 0;
  }
}

export function keepPort(path: string, port: number): void {
  try {
    writePrivately(path, `${port}\n`);
  } catch {
    // The next daemon takes another one.
  }
}
