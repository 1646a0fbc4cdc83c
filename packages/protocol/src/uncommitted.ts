/** `3 uncommitted files (a, b and 1 more)`: what is uncommitted, named as far as it is known, and how many files there are. */
export function uncommittedWords(files: readonly string[], count: number): string {
  const more = count > files.length ? ` and ${count - files.length} more` : '';
  return `${count} uncommitted ${count === 1 ? 'file' : 'files'} (${files.join(', ')}${more})`;
}
