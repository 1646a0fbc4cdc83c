/** The text below a heading of one of the given names, up to the next heading of its level or a higher one. */
export const section = (markdown: string, names: readonly string[]): string => parted(markdown, names).inside;

/** A text without that section and its heading. */
export const withoutSection = (markdown: string, names: readonly string[]): string =>
  parted(markdown, names).outside;

function parted(
  markdown: string,
  names: readonly string[],
): { readonly inside: string; readonly outside: string } {
  const wanted = new Set(names);
  let fenced = false;
  // Of the section: 0 before it, then the level of its heading, and infinite behind it.
  let level = 0;
  const inside: string[] = [];
  const outside: string[] = [];
  for (const line of markdown.split(/\r?\n/)) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^(#{1,6})\s/.exec(line);
    const depth = heading?.[1]?.length ?? 0;
    if (heading && level > 0 && depth <= level && level !== Infinity) level = Infinity;
    if (heading && level === 0 && wanted.has(titleOf(line.slice(depth)).toLowerCase())) {
      level = depth;
      continue;
    }
    (level > 0 && level !== Infinity ? inside : outside).push(line);
  }
  return { inside: inside.join('\n').trim(), outside: outside.join('\n').trim() };
}

/** A heading may be closed by as many signs as it likes. */
function titleOf(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  return text.slice(0, end).trim();
}

/** The entries of a section that is a list; of any other, nothing. */
export const bullets = (text: string): string[] =>
  [...text.matchAll(/^\s{0,3}[-*+]\s+(.+)$/gm)].map((match) => (match[1] ?? '').trim());

/** The first words of a text that are neither heading nor list nor fence, in one line. */
export function firstParagraph(markdown: string): string {
  const paragraph = markdown.split(/\r?\n\s*\r?\n/).find((part) => /^\s*[^\s#>*+`~|<-]/.test(part));
  return oneLine(paragraph ?? '', 300);
}

/** Definitions in one line often hold `\n` as two characters, where their author meant a line. */
export function oneLine(text: string, most: number): string {
  const flat = text
    .replaceAll(/\\n|\s+/g, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}
