import { closeSync, writeSync } from 'node:fs';
import { isReveilleError, type ErrorCode } from '@reveille/protocol';
import { z } from 'zod';
import type { Place } from './place/folder.ts';
import { inWords } from './place/trouble.ts';

/** Why a daemon could not start, for the person: what is wrong and what to do. */
export const StartFailure = z.object({
  words: z.string(),
  /** Whether the same start may succeed later, with nobody having changed anything of Reveille's. */
  mayPass: z.boolean(),
});
export type StartFailure = z.infer<typeof StartFailure>;

const MAY_PASS: ReadonlySet<ErrorCode> = new Set(['store_full', 'store_failed', 'store_locked']);

export function startFailure(error: unknown, { home, log }: Pick<Place, 'home' | 'log'>): StartFailure {
  const told = inWords(error, home);
  if (isReveilleError(told)) return { words: told.message, mayPass: MAY_PASS.has(told.code) };
  const detail = error instanceof Error ? error.message : String(error);
  return { words: `This is a defect of Reveille: ${detail}. ${log} says where.`, mayPass: true };
}

/** Writes it for whoever started this process, who may not listen any more. */
export function tellFailure(failure: StartFailure, descriptor: number | null): void {
  process.stderr.write(`${new Date().toISOString()} ${failure.words}\n`);
  if (descriptor === null) return;
  try {
    writeSync(descriptor, JSON.stringify(failure));
    closeSync(descriptor);
  } catch {
    // It has ended.
  }
}
