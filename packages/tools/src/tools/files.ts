import { ReveilleError, isReveilleError } from '@reveille/protocol';
import { z } from 'zod';
import { head, quote } from '../fence.ts';
import { DESTROYS, LOOKS, SETS, WORKERS, defineTool, type RunWorld } from '../tool.ts';

export const path = (words: string) => z.string().min(1).max(4_096).describe(words);
/** A file that a model writes or edits in one go; larger ones are made by commands. */
const MOST_CHARS = 4_000_000;
const content = z.string().max(MOST_CHARS);

/** `needs: 'workspace'` keeps whoever has none from getting here. */
export function filesOf({ workspace }: Pick<RunWorld, 'workspace'>) {
  if (!workspace)
    throw new ReveilleError('wrong_state', 'You have no files here: your task works on no repository.');
  return workspace.files;
}

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: [
    'Reads a text file of your worktree, whole or from line `startLine` on. In the text each line begins with its number and a tab, which are not part of the file.',
    'To find something in many files, search_text is better.',
  ],
  input: z.strictObject({
    path: path('From the root of the worktree.'),
    startLine: z.int().min(1).default(1),
    lineCount: z.int().min(1).max(1_000_000).optional().describe('Left out: up to the end.'),
  }),
  output: z.object({
    path: z.string(),
    startLine: z.number(),
    lines: z.number().describe('How many lines these are.'),
    totalLines: z.number(),
    content: z.string(),
  }),
  annotations: LOOKS,
  callers: WORKERS,
  needs: 'workspace',
  async run({ path: given, startLine, lineCount }, world) {
    const file = await filesOf(world).readFile(given).catch(tooLarge);
    const all = file.text().split('\n');
    // A text that ends with a line's end has no further, empty line.
    const total = all.at(-1) === '' ? all.length - 1 : all.length;
    if (startLine > Math.max(total, 1))
      throw new ReveilleError(
        'invalid_input',
        `${quote(file.path)} has ${total} lines; startLine is ${startLine}.`,
      );
    const end = Math.min(total, startLine - 1 + (lineCount ?? total));
    const part = all.slice(startLine - 1, end);
    const whole = end === total && all.length > total && part.length > 0;
    const structured = {
      path: file.path,
      startLine,
      lines: part.length,
      totalLines: total,
      content: `${part.join('\n')}${whole ? '\n' : ''}`,
    };
    const text = part.map((line, i) => `${startLine + i}\t${line}`).join('\n');
    return { structured, text: total === 0 ? `${quote(file.path)} is empty.` : text };
  },
});

function tooLarge(error: unknown): never {
  if (!isReveilleError(error, 'limit_reached')) throw error;
  const words =
    'The file is too large to be read here. Find the place with search_text, or show a part of it with run_command: sed -n "100,200p".';
  throw new ReveilleError('limit_reached', words, { data: { ...error.data }, cause: error });
}

export const createFile = defineTool({
  name: 'create_file',
  title: 'Write a file',
  description: [
    'Writes a new text file, with the folders it needs. A file that is already there is replaced only with `overwrite`: to change a part of one, use edit_file.',
  ],
  input: z.strictObject({
    path: path('From the root of the worktree.'),
    content: content.describe('All of it.'),
    overwrite: z.boolean().default(false),
  }),
  output: z.object({ path: z.string(), created: z.boolean() }),
  annotations: { ...SETS, destructive: true },
  callers: WORKERS,
  needs: 'workspace',
  async run({ path: given, content: data, overwrite }, world) {
    try {
      const { path: written, created } = await filesOf(world).writeFile(given, data, {
        exclusive: !overwrite,
      });
      return {
        structured: { path: written, created },
        text: `${created ? 'Created' : 'Replaced'} ${quote(written, 400)}.`,
      };
    } catch (error) {
      if (overwrite || !(error instanceof ReveilleError) || error.code !== 'wrong_state') throw error;
      const words = `${error.message} To change a part of it, use edit_file; to replace all of it, set "overwrite": true.`;
      throw new ReveilleError('wrong_state', words, { data: { ...error.data }, cause: error });
    }
  },
});

export const editFile = defineTool({
  name: 'edit_file',
  title: 'Edit a file',
  description: [
    'Replaces an exact piece of a text file. `oldText` must be in the file exactly once, to the last space and tab: take it from read_file without the line numbers, with enough lines around it to be the only one. `replaceAll` replaces every place instead.',
    'Example: {"path":"src/a.ts","oldText":"const limit = 10;","newText":"const limit = 20;"}',
  ],
  input: z.strictObject({
    path: path('From the root of the worktree.'),
    oldText: content.min(1).describe('What is there now.'),
    newText: content.describe('What shall be there; empty to take it away.'),
    replaceAll: z.boolean().default(false),
  }),
  output: z.object({ path: z.string(), replaced: z.number(), line: z.number() }),
  annotations: DESTROYS,
  callers: WORKERS,
  needs: 'workspace',
  async run({ path: given, oldText, newText, replaceAll }, world) {
    const files = filesOf(world);
    const file = await files.readFile(given);
    const before = file.text();
    const places = placesOf(before, oldText);
    const [first] = places;
    if (first === undefined) throw notThere(file.path, before, oldText);
    if (places.length > 1 && !replaceAll) throw notOne(file.path, before, places);
    if (oldText === newText)
      throw new ReveilleError('invalid_input', 'oldText and newText are the same: nothing to change.');
    const after = before.split(oldText).join(newText);
    const { path: written } = await files.writeFile(file.path, after, { create: false });
    const line = lineAt(before, first);
    const how = places.length === 1 ? `at line ${line}` : `at ${places.length} places`;
    return {
      structured: { path: written, replaced: places.length, line },
      text: `Edited ${quote(written, 400)} ${how}.`,
    };
  },
});

/** Where a text is found, without overlaps: as a replacement would find it. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

/** Only what precedes is looked at, and no list of lines is made. */
function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Most often it is only the space that differs, or the numbers of read_file were left in. */
function notThere(file: string, text: string, wanted: string): ReveilleError {
  const name = quote(file, 400);
  const say = (words: string): ReveilleError =>
    new ReveilleError('invalid_input', `oldText is not in ${name}. ${words}`);
  const withoutNumbers = wanted.replaceAll(/^ *\d+\t/gm, '');
  if (withoutNumbers !== wanted && text.includes(withoutNumbers))
    return say(
      'It is without the line numbers and tabs that read_file puts before each line: leave them out.',
    );
  if (text.includes('\r\n') && text.replaceAll('\r\n', '\n').includes(wanted))
    return say('The lines of this file end with \\r\\n: send them so.');
  const wantedLines = wanted.split('\n').map((line) => line.trim());
  const lines = text.split('\n');
  const trimmed = lines.map((line) => line.trim());
  const at = trimmed.findIndex((_, i) => wantedLines.every((line, j) => trimmed[i + j] === line));
  if (at >= 0 && wantedLines.some((line) => line !== '')) {
    const there = lines.slice(at, at + wantedLines.length).join('\n');
    return say(
      `At line ${at + 1} it is there with other spaces or tabs. Exactly, it is:\n${head(there, 2_000)}`,
    );
  }
  const begins = trimmed.indexOf(wantedLines.find((line) => line !== '') ?? '');
  if (begins >= 0)
    return say(
      `Its first line is at line ${begins + 1}, but what follows differs. Read the file from there.`,
    );
  return say('Read the file again: it may have changed, or you have another one in mind.');
}

function notOne(file: string, text: string, places: readonly number[]): ReveilleError {
  const lines = places.slice(0, 10).map((place) => lineAt(text, place));
  const more = places.length > lines.length ? ', …' : '';
  const words = `oldText is in ${quote(file, 400)} ${places.length} times (lines ${lines.join(', ')}${more}). Send more of the lines around it, so that it is there once, or set "replaceAll": true.`;
  return new ReveilleError('invalid_input', words, { data: { lines } });
}

export const deleteFile = defineTool({
  name: 'delete_file',
  title: 'Delete a file',
  description: [
    'Deletes one file of your worktree. What git knows can be brought back with git; what it does not is gone.',
  ],
  input: z.strictObject({ path: path('From the root of the worktree.') }),
  output: z.object({ path: z.string() }),
  annotations: DESTROYS,
  callers: WORKERS,
  needs: 'workspace',
  async run({ path: given }, world) {
    const { path: deleted } = await filesOf(world).deleteFile(given);
    return { structured: { path: deleted }, text: `Deleted ${quote(deleted, 400)}.` };
  },
});

export const listDirectory = defineTool({
  name: 'list_directory',
  title: 'List a folder',
  description: [
    'Lists the files and folders in a folder of your worktree, with sizes. To find files by name anywhere beneath, use search_text with `glob` and no pattern.',
  ],
  input: z.strictObject({
    path: z.string().max(4_096).default('.').describe('Left out: the root.'),
    limit: z.int().min(1).max(10_000).default(1_000),
  }),
  output: z.object({
    path: z.string(),
    entries: z.array(z.object({ name: z.string(), kind: z.string(), size: z.number().nullable() })),
    truncated: z.boolean(),
  }),
  annotations: LOOKS,
  callers: WORKERS,
  needs: 'workspace',
  async run({ path: given, limit }, world) {
    const { path: folder, entries, truncated } = await filesOf(world).listDirectory(given, { limit });
    const lines = entries.map(
      ({ name, kind, size }) => `${shown(name)}${kind === 'directory' ? '/' : ''}${extra(kind, size)}`,
    );
    const rest = truncated ? ['… and more; raise limit, or list a folder beneath.'] : [];
    const text = lines.length > 0 ? [...lines, ...rest].join('\n') : 'It is empty.';
    return { structured: { path: folder, entries: entries.map((entry) => ({ ...entry })), truncated }, text };
  },
});

/** A name is one line, whatever is in it. */
const shown = (name: string): string => (/[\p{Cc}\p{Cf}"\\]/u.test(name) ? JSON.stringify(name) : name);

function extra(kind: string, size: number | null): string {
  if (kind === 'link' || kind === 'other') return ` (${kind})`;
  return size === null ? '' : `  ${size} bytes`;
}
