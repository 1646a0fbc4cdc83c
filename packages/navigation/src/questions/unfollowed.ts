import type { Spot } from '../lsp/session.ts';
import { moduleAround } from '../text/imports.ts';
import { offsetOf } from '../text/spots.ts';
import type { Inquiry } from './inquiry.ts';

/**
 * What a server cannot follow leads it to the import itself. That says nothing of what is meant: the package may be one of this
 * very tree that is not installed or built, and in a new worktree none is. Which module it is from; null: this is no import.
 */
export async function unfollowed(inquiry: Inquiry, spot: Spot): Promise<string | null> {
  const text = await inquiry.text(spot.path);
  const at = text === null ? null : offsetOf(text, spot);
  return text === null || at === null ? null : moduleAround(text, at);
}
