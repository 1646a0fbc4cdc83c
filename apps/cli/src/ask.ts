import { createInterface } from 'node:readline/promises';
import type { Io } from './io.ts';

/**
 * One line of a person at a terminal. Null: they want to leave (Ctrl-C, or the input has ended); undefined: it was
 * answered elsewhere.
 */
export async function ask(
  io: Io,
  question: string,
  answered: AbortSignal,
): Promise<string | null | undefined> {
  const lines = createInterface({ input: io.in, output: io.out as NodeJS.WritableStream, terminal: true });
  const left = new AbortController();
  lines.on('SIGINT', () => left.abort());
  lines.on('close', () => left.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([answered, left.signal]) });
  } catch (error) {
    if (answered.aborted) return undefined;
    if (left.signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
  }
}
