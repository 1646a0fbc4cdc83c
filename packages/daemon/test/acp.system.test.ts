import { expect, test } from 'vitest';
import { AcpHouse, endOf, play, report } from './acp-house.ts';

test('[EXE1.30] an agent of a command works in its worktree: it edits, commits, reports with our tools, and its work comes home', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'edit', path: 'a.txt', content: 'made\n' },
      { do: 'sh', command: 'git add -A && git commit -qm "add a" && git log --format=%s -1' },
      report('all done'),
    ]),
  );
  const end = await endOf(client, view);
  expect(end).toMatchObject({ status: 'success', output: 'all done', cause: 'report' });
  expect(end.work?.files.map(({ path }) => path)).toEqual(['a.txt']);
});
