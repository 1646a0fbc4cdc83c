import { fieldsOf, listOf, textOf, at, type Fields } from './shapes.ts';

/** The command and the files that a call brings along, as far as it says them in any place. */
export interface Carried {
  /** Empty: it brings none. */
  readonly command: string;
  readonly paths: readonly string[];
  /** Everything else that it says. A call that runs something and has no command may run one of these. */
  readonly texts: readonly string[];
  /** It holds more than is looked through, so anything may be in it. */
  readonly unread: boolean;
}

const keysOf = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/));
/** Without capitals, dashes and underscores: vendors write them in every way. */
const plainKey = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, '');

const PATH_KEYS = keysOf(
  `path paths file files filepath filepaths filename filenames notebookpath abspath absolutepath oldpath newpath
   source destination targetfile targetpath uri dirpath directorypath relativepath`,
);
const COMMAND_KEYS = keysOf('command cmd commandline shellcommand script bash');
const COMMAND_LIST_KEYS = keysOf('commands cmds scripts');
/** Words after the command that stands beside them. */
const WORD_KEYS = keysOf('args arguments argv argumentlist');
/** Objects whose keys are the files. */
const MAP_KEYS = keysOf('changes filechanges');
/** Codex reads its command for people, and says the same again in other words. */
const REPEATING_KEYS = keysOf('parsedcmd');
/** The files that a patch names, as `git diff` and Codex write it. */
const PATCHED =
  /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) (?:[ab]\/)?)([^\t\n]+)/gm;

const MOST_VALUES = 20_000;
const DEEPEST = 20;
const LONGEST_JSON = 200_000;

/** Of our own tools the arguments are known: what is deeper in them is data. The folder that a call works in is no file of it. */
export function carriedBy(call: Fields, own: boolean): Carried {
  const input = call['rawInput'];
  const gathering = new Gathering();
  const folder = textOf(at(input, 'cwd'));
  const places = listOf(call['locations']).flatMap((place) => [at(place, 'path'), at(place, 'uri')]);
  for (const place of places) if (place !== folder) gathering.path(place);
  for (const block of listOf(call['content'])) gathering.path(at(block, 'path'));
  if (own) gathering.fields(fieldsOf(at(input, 'arguments') ?? input), null);
  else gathering.value(input, 0);
  const { commands, paths, texts, unread } = gathering;
  return { command: joinedLines([...commands]), paths: [...paths], texts: [...texts], unread };
}

/** Each is a line by itself: joined, a quote or a here-document of one could take in the next. */
export const joinedLines = (lines: readonly string[]): string =>
  lines.length > 1 ? lines.map((line) => `sh -c ${shellWord(line)}`).join('\n') : (lines[0] ?? '');

export const shellWord = (word: unknown): string => {
  const text = textOf(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
};

class Gathering {
  readonly commands = new Set<string>();
  readonly paths = new Set<string>();
  readonly texts = new Set<string>();
  unread = false;
  #values = 0;

  value(value: unknown, depth: number): void {
    if (++this.#values > MOST_VALUES || depth > DEEPEST) this.unread = true;
    if (this.unread) return;
    if (typeof value === 'string') return this.#text(value, depth);
    if (Array.isArray(value)) for (const each of value) this.value(each, depth + 1);
    else this.fields(fieldsOf(value), depth + 1);
  }

  /** `depth`: how deep they are; null: what is in them is not looked into. */
  fields(fields: Fields, depth: number | null): void {
    const entries = Object.entries(fields).map(([key, value]) => [plainKey(key), value] as const);
    const more = entries.flatMap(([key, value]) => (WORD_KEYS.has(key) ? [wordsOf(value)] : []))[0] ?? [];
    const runs = entries.some(([key]) => COMMAND_KEYS.has(key));
    for (const [key, value] of entries) {
      if (COMMAND_KEYS.has(key)) this.#command(value, more, depth);
      else if (COMMAND_LIST_KEYS.has(key)) for (const each of listOf(value)) this.#command(each, [], depth);
      else if (PATH_KEYS.has(key)) this.path(value);
      else if (MAP_KEYS.has(key)) for (const name of Object.keys(fieldsOf(value))) this.path(name);
      else if (!runs && WORD_KEYS.has(key) && more.length > 0) this.texts.add(more.map(shellWord).join(' '));
      // A list of lines or of files may hold what says them in turn.
      if (depth !== null && typeof value === 'object' && !REPEATING_KEYS.has(key)) this.value(value, depth);
      else if (depth !== null && typeof value === 'string' && !COMMAND_KEYS.has(key))
        this.value(value, depth);
    }
  }

  path(value: unknown): void {
    for (const path of Array.isArray(value) ? value : [value]) {
      const text = withoutScheme(textOf(path));
      if (text !== '') this.paths.add(text);
    }
  }

  /** Some give a line, some the words of it, some say program and arguments apart. */
  #command(value: unknown, more: readonly string[], depth: number | null): void {
    const words = wordsOf(value);
    const line = typeof value === 'string' ? value : words.map(shellWord).join(' ');
    if (line.trim() !== '') this.commands.add([line, ...more.map(shellWord)].join(' '));
    const { program, executable, file, name } = fieldsOf(value);
    const runs = [program, executable, file, name].find((each) => typeof each === 'string');
    if (runs !== undefined)
      this.#command([runs, ...wordsOf(fieldsOf(value)['args'] ?? fieldsOf(value)['arguments'])], more, depth);
  }

  #text(text: string, depth: number): void {
    if (text.trim() !== '') this.texts.add(text);
    for (const [, path = ''] of text.slice(0, LONGEST_JSON).matchAll(PATCHED))
      if (path !== '/dev/null' && isPatch(text)) this.path(path.trim());
    // Some vendors hand arguments on as the text they got.
    if (!/^\s*[[{]/.test(text)) return;
    if (text.length > LONGEST_JSON) return;
    const parsed = parsedJson(text);
    if (parsed !== null) this.value(parsed, depth + 1);
  }
}

const isPatch = (text: string): boolean => text.includes('*** Begin Patch') || /^\+\+\+ /m.test(text);

/** The words of a list of texts; none if there is anything else in it. */
const wordsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : [];

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** `file:///a%20b` is `/a b`. */
function withoutScheme(path: string): string {
  const rest = /^file:(?:\/\/(?:localhost)?(?=\/))?(.*)$/is.exec(path)?.[1];
  if (rest === undefined) return path;
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
