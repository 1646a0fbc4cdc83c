import { ReveilleError } from '@reveille/protocol';
import { z } from 'zod';
import type { FileHits } from '../search/find-lines.ts';
import { Search } from '../search/search.ts';
import { LOOKS, WORKERS, defineTool } from '../tool.ts';
import { filesOf } from './files.ts';

const Found = z.object({ path: z.string(), line: z.number().nullable(), text: z.string() });

export const searchText = defineTool({
  name: 'search_text',
  title: 'Search in files',
  description: [
    'Finds lines that contain `pattern` in the text files of your worktree: the words as they are, or with `regex` a JavaScript regular expression, matched line by line. `glob` narrows the files ("*.ts", "src/**/*.test.ts"). Without `pattern` it lists the files that fit.',
    'To find where a symbol is defined or used, a navigation tool is more exact, if you have one. Folders such as node_modules and binary or very large files are left out.',
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
    context: z.int().min(0).max(5).default(0).describe('Lines to show before and after each match.'),
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
    const text = [...found.map(fileText), `[${note}; ${searched} files looked into${left}]`].join('\n');
    return { structured: { matches, complete: why === null, why, searched, skipped }, text };
  },
});

function fileText({ path, hits }: FileHits): string {
  if (hits.length === 0) return path;
  const lines = hits.flatMap(({ line, text, before, after }) => [
    ...before.map((other, i) => `${path}-${line - before.length + i}- ${other}`),
    `${path}:${line}: ${text}`,
    ...after.map((other, i) => `${path}-${line + 1 + i}- ${other}`),
    ...(before.length + after.length > 0 ? ['--'] : []),
  ]);
  return lines.join('\n');
}
