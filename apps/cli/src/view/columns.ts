/** Columns of a terminal, for text in any script: names of tasks are what their authors call them. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}])/u;
const NONE = /^(?:\p{Mn}|\p{Me}|\p{Cf})/u;
/** What a terminal obeys, or what would show text in another order than it is in. */
const OBEYED = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

const columnsOf = (character: string): number => (NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

export const width = (text: string): number =>
  Array.from(text).reduce((sum, character) => sum + columnsOf(character), 0);

/** One line of at most so many columns, with a sign that there was more; nothing in it can move the cursor. */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return '';
  const characters = Array.from(oneLine(text));
  let used = 0;
  let end = 0;
  let last = 0;
  for (const character of characters) {
    used += columnsOf(character);
    if (used > columns) return `${characters.slice(0, last).join('')}…`;
    end++;
    if (used <= columns - 1) last = end;
  }
  return characters.join('');
}

export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - width(text)));

export const padStart = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - width(text))) + text;

export const oneLine = (text: string): string => text.replaceAll(OBEYED, ' ').trim();

/** Several lines, as they are, but nothing in them is obeyed by a terminal. */
export const harmless = (text: string): string =>
  text.replaceAll(OBEYED, (run) =>
    Array.from(run, (character) => (/[\n\t]/.test(character) ? character : '\ufffd')).join(''),
  );

/** Broken between words, each line behind `indent`. */
export function wrap(text: string, columns: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && width(indent) + width(line) + 1 + width(word) > columns) {
      lines.push(indent + line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, indent + line];
}
