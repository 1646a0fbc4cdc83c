/** Bodies come from anybody: whatever is not as expected counts as absent. */
export type Fields = Readonly<Record<string, unknown>>;

export const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const words = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The text in a content: a string, or parts with text, or parts with a content of their own. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content))
    return content
      .map(textOf)
      .filter((part) => part !== '')
      .join('\n');
  const { text, content: inner, output } = fields(content);
  if (typeof text === 'string') return text;
  if (inner !== undefined) return textOf(inner);
  return output === undefined ? '' : textOf(output);
}

/** Text in pieces, as a stream sends it. */
export function pieces(text: string, size = 40): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? [];
}
