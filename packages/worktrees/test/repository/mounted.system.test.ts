import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Boundary, BOUNDARY_DEFAULTS, findRepository } from '@reveille/worktrees';
import { asPerson, make, Scratch } from '../creation/scratch.ts';
import { hasSandbox, unlessSkipped } from '../sandbox/here.ts';

describe.skipIf(!hasSandbox)(`what an agent sees of a repository${unlessSkipped}`, () => {
  for (const kind of ['clone', 'linked'] as const)
    test(`[BND6.12][BND6.16] history, also borrowed, and nothing else of who lends it (${kind})`, async () => {
      await using scratch = await Scratch.make();
      const lender = await scratch.repository({ 'a.txt': 'a\n' }, 'lender');
      await asPerson(lender, 'config', 'remote.origin.url', 'https://TOKEN@example.org');
      await asPerson(scratch.path, 'clone', '-q', '--shared', lender, 'repo');
      const root = join(scratch.path, 'repo');
      const own = join(scratch.path, 'state');
      await scratch.write('state/daemon.json', 'TOKEN');
      await using boundary = await Boundary.open({ settings: BOUNDARY_DEFAULTS, own: [own], log: () => {} });
      const { checkout } = await make(root, { settings: { kind }, search: { home: null, own: [own] } });
      const said = async (command: string): Promise<string> =>
        (await boundary.sandbox.run(command, boundary.confine(checkout))).output;
      expect(await said('git log --format=%s; git cat-file -p HEAD:a.txt')).toBe('files\na\n');
      const paths = [`${lender}/.git/config`, `${root}/.git/config`, `${own}/daemon.json`];
      expect(
        await said(`cat ${paths.join(' ')} 2>/dev/null; ls -d ${lender}/* ${own} 2>/dev/null; true`),
      ).toBe('');
    });

  test('[BND6.12] a store that was put into the list after the look is not seen', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    const other = await scratch.repository({ 'b.txt': 'PRIVATE\n' }, 'other');
    await using boundary = await Boundary.open({ settings: BOUNDARY_DEFAULTS, log: () => {} });
    const { checkout } = await make(root);
    await mkdir(join(root, '.git/objects/info'), { recursive: true });
    await writeFile(join(root, '.git/objects/info/alternates'), `${other}/.git/objects\n`);
    expect((await findRepository(root, { home: null })).objectStores).toHaveLength(2);
    const { output } = await boundary.sandbox.run(
      `ls ${other}/.git/objects 2>/dev/null; git cat-file --batch-all-objects --batch-check 2>/dev/null | wc -l`,
      boundary.confine(checkout),
    );
    expect(output.trim()).toBe('3');
  });
});
