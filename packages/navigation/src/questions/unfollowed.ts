import type { Spot } from '../lsp/session.ts';
import { moduleAround } from '../text/imports.ts';
import type { Inquiry } from './inquiry.ts';

/**
 * What a server cannot follow leads it to the import itself. That says nothing of what is meant: the package may be one of this
 * very tree that is not installed or built, and in a new worktree none is. Which module it is from; null: this is no import.
 */
export async function unfollowed(inquiry: Inquiry, { path, line, column }: Spot): Promise<string | null> {
  const text = await inquiry.text(path);
  if (text === null) return null;
  let start = 0;
  for (let i = 1; i < line && start >= 0; i++) start = text.indexOf('\n', start) + 1 || -1;
  return start < 0 ? null : moduleAround(text, start + column - 1);
}
