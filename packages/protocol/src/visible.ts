/** What cannot be seen, or turns around what is seen, is written out: what is shown is what would be done. */
export const visible = (text: string): string =>
  text.replaceAll(
    /[^\n\t\P{C}]|[\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
