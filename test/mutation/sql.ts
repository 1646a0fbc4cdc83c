import { textOf, type Visit } from './syntax.ts';

const IS_SQL = /\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|CREATE|BEGIN|COMMIT|ROLLBACK)\b/;

/** Words of SQL, and what a mistake would make of them. The first that fits counts. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bsynchronous = FULL\b/, 'synchronous = OFF'],
  [/\bjournal_mode = WAL\b/, 'journal_mode = OFF'],
  [/\blocking_mode = EXCLUSIVE\b/, 'locking_mode = NORMAL'],
  [/\bBEGIN IMMEDIATE\b/, 'BEGIN'],
  [/\bCOMMIT\b/, 'ROLLBACK'],
  [/\bROLLBACK\b/, 'COMMIT'],
  [/\bDISTINCT\b/, ''],
  [/\bDESC\b/, 'ASC'],
  [/\bASC\b/, 'DESC'],
  [/\bIS NOT NULL\b/, 'IS NULL'],
  [/\bIS NULL\b/, 'IS NOT NULL'],
  [/\bNOT EXISTS\b/, 'EXISTS'],
  [/\bOR REPLACE\b/, 'OR IGNORE'],
  [/\bUNIQUE\b/, ''],
  [/\bAND\b/, 'OR'],
  [/\bOR\b/, 'AND'],
  [/<=/, '<'],
  [/>=/, '>'],
  [/(?<=\s)<(?=\s)/, '<='],
  [/(?<=\s)>(?=\s)/, '>='],
  [/(?<=\w) - 1\b/, ''],
  [/(?<=\w) \+ 1\b/, ''],
];
const ANY_WORD = new RegExp(WORDS.map(([{ source }]) => `(?:${source})`).join('|'), 'g');

/** Each word of a statement that a mistake could change, one at a time. */
export function* changeSql({ node, source }: Visit): Generator<{ start: number; end: number; text: string }> {
  const isText =
    node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string');
  if (!isText) return;
  const statement = textOf(source, node);
  if (!IS_SQL.test(statement)) return;
  for (const { 0: word, index } of statement.matchAll(ANY_WORD)) {
    const change = WORDS.find(([pattern]) => new RegExp(`^(?:${bare(pattern)})$`).test(word));
    if (change) yield { start: node.start + index, end: node.start + index + word.length, text: change[1] };
  }
}

/** The pattern without what it asks of its surroundings. */
const bare = ({ source }: RegExp): string => source.replaceAll(/\\b|\(\?<?=[^)]*\)/g, '');
