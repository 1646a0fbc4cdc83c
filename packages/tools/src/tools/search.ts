import { ReveilleError } from '@reveille/protocol';
import { z } from 'zod';
import type { FileHits } from '../search/find-lines.ts';
import { Search } from '../search/search.ts';
import { linesAround } from '../lines-around.ts';
import { LOOKS, WORKERS, defineTool, type RunWorld } from '../tool.ts';
import { filesOf } from './files.ts';

const Found = z.object({ path: z.string(), line: z.number().nullable(), text: z.string() });

export const searchText = defineTool({
  name: 'search_text',
  title: 'Search in files',
  description: [
    'Finds lines that contain `pattern` in the text files of your worktree: the words as they are, or with `regex` a JavaScript regular expression, matched line by line. `glob` narrows the files ("*.ts", "src/**/*.test.ts"). Without `pattern` it lists the files that fit.',
    'For a symbol use navigate_to_symbol or find_usages first: words find comments, strings and other symbols of the name too. Folders such as node_modules and binary or very large files are left out.',
    'Example: {"pattern":"new Worker\\\\(","regex":true,"glob":"src/**/*.ts"}',
  ],
  input: z.strictObject({
    pattern: z.string().min(1).max(2_000).optional(),
    regex: z.boolean().default(false),
    caseSensitive: z.boolean().default(true),
    glob: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('Without a slash: the file’s name. With one: its path from the root.'),
    path: z
      .string()
      .max(4_096)
      .default('.')
      .describe('The folder or file to search, from the root of the worktree.'),
    context: z.int().min(0).max(5).default(0).describe('Lines around each match.'),
    limit: z.int().min(1).max(2_000).default(200).describe('Most matches.'),
    includeGenerated: z.boolean().default(false).describe('Also in node_modules and the like.'),
    timeout: z.int().min(100).max(60_000).default(20_000).describe('Milliseconds.'),
  }),
  output: z.object({
    matches: z.array(Found),
    complete: z.boolean().describe('false: there may be more; `why` says why.'),
    why: z.string().nullable(),
    searched: z.number().describe('Files looked into.'),
    skipped: z.number().describe('Files that are binary, too large or unreadable.'),
  }),
  annotations: LOOKS,
  callers: WORKERS,
  needs: 'workspace',
  async run(input, world) {
    const files = filesOf(world);
    const search = new Search(files, input);
    const clock = AbortSignal.timeout(input.timeout);
    const stop = AbortSignal.any([clock, world.signal]);
    await search.run(stop);
    if (world.signal.aborted) throw new ReveilleError('aborted', 'The search was given up.');
    const { found, why, searched, skipped } = search;
    const matches = found.flatMap(({ path, hits }): z.infer<typeof Found>[] =>
      hits.length === 0
        ? [{ path, line: null, text: '' }]
        : hits.map(({ line, text }) => ({ path, line, text })),
    );
    const note = why === null ? `${matches.length} found` : `${matches.length} found, not complete: ${why}`;
    const left = skipped > 0 ? `, ${skipped} left out as binary or too large` : '';
    world.tally?.add('search');
    const lines = [...found.map(fileText), `[${note}; ${searched} files looked into${left}]`];
    const text = [...lines, ...betterTool(input, world)].join('\n');
    return { structured: { matches, complete: why === null, why, searched, skipped }, text };
  },
});

/** A search for what looks like a symbol is told of the tool that knows symbols, if its caller has it. */
function betterTool(
  { pattern, regex }: { pattern?: string | undefined; regex: boolean },
  { has }: RunWorld,
): string[] {
  const name = regex ? /^\\b([\p{L}_$][\p{L}\p{N}_$]*)\\b$/u.exec(pattern ?? '')?.[1] : pattern;
  if (name === undefined || !SYMBOL.test(name) || !has('navigate_to_symbol')) return [];
  return [
    `[${name} looks like a symbol: navigate_to_symbol {"symbolName":"${name}"} finds its definition, find_usages its uses, without other things of that name]`,
  ];
}

/** One name that is no plain word: with a capital inside, an underscore, a digit or a dollar; or a word and a call. */
const SYMBOL = /^(?=.*(?:\p{Ll}\p{Lu}|[_$\d])|\p{Lu}\p{L}*\p{Ll})[\p{L}_$][\p{L}\p{N}_$]{2,80}$/u;

function fileText({ path, hits }: FileHits): string {
  if (hits.length === 0) return path;
  const lines = linesAround(hits).map((each) => {
    if (!each) return APART;
    const sign = each.isHit ? ':' : '-';
    return `${path}${sign}${each.line}${sign} ${each.text}`;
  });
  const isAround = hits.some(({ before, after }) => before.length + after.length > 0);
  return [...lines, ...(isAround ? [APART] : [])].join('\n');
}

const APART = '--';
