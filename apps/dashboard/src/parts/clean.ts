/** What a reader cannot see, or what makes text look like other text: controls, marks of direction, empty widths. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Shows them by their number, so that nobody is led to read what is not there. */
export const clean = (text: string): string =>
  text.replaceAll(UNSEEN, (found) =>
    found === '\r' ? '' : `⟨${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );

/** Most texts are: they are looked at once, ten thousand of them when the page is opened. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** On one line, and not longer than that. */
export const oneLine = (text: string, longest = 240): string => {
  if (text.length <= longest && PLAIN.test(text)) return text;
  const flat = clean(text.slice(0, longest * 2))
    .replaceAll(/\s+/g, ' ')
    .trim();
  return flat.length > longest ? `${flat.slice(0, longest - 1)}…` : flat;
};
