const LONGEST = 300;
/** What is not looked at any more: a comment can be as long as its file. */
const FAR = 4_000;

/** The first paragraph of a comment, on one line; null: it says nothing. */
export function firstLines(text: string): string | null {
  const plain = text
    .slice(0, FAR)
    .replaceAll(/^\s*\/\*+|\*+\/\s*$|^\s*(?:\*|\/{2,}!?|#+)[ \t]?/gm, '')
    .trim()
    .split(/\n\s*\n|\n\s*@/)[0];
  const line = plain?.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST);
  return line ? line : null;
}
