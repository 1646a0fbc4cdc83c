import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMANDS } from '../src/commands/table.ts';
import { run } from './io.ts';

/** What bash would offer after these words. */
function offered(script: string, words: readonly string[]): string[] {
  const code = `${script}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_reveille
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--noprofile', '--norc', '-c', code, 'bash', 'reveille', ...words];
  return execFileSync('bash', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

test('[CLI1.5] bash completes every verb, the verbs of a group, and the options of each', async () => {
  const { out: script } = await run(['completion', 'bash']);
  const first = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]));
  expect(new Set(offered(script, ['']))).toEqual(new Set([...first, 'help']));
  expect(offered(script, ['at'])).toEqual(['attach']);
  expect(offered(script, ['plan', 'v'])).toEqual(['validate']);
  expect(offered(script, ['plan', 'run', '--'])).toEqual([
    '--input',
    '--budget',
    '--dirty',
    '--detach',
    '--json',
    '--repo',
    '--help',
  ]);
  expect(offered(script, ['stop', '--a'])).toEqual(['--all']);
  // Files are offered where a file is meant, not where a task is.
  expect(offered(script, ['plan', 'run', '/et'])).toEqual(['/etc']);
  expect(offered(script, ['diff', '/et'])).toEqual([]);
});

test.each(['zsh', 'fish'])(
  '[CLI1.5] the script for %s names every verb, and the shell takes it if it is there',
  async (shell) => {
    const { code, out: script } = await run(['completion', shell]);
    expect(code).toBe(0);
    for (const { name } of COMMANDS) for (const word of name.split(' ')) expect(script).toContain(word);
    const tried = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
    if (tried.error === undefined) expect(tried).toMatchObject({ status: 0, stderr: '' });
  },
);
