import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DirectoryWorkspace } from './directory.ts';
import { rig } from './rig.ts';

describe('commands', () => {
  test('[TOL2.32] a command gives its output and exit code; one that fails is no error of the tool', async () => {
    await using workspace = await DirectoryWorkspace.make({ 'a.txt': 'hello\n' });
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const fine = await worker.call('run_command', { command: 'cat a.txt && echo oops >&2' });
    expect(fine.structured).toEqual({ exitCode: 0, signal: null, timedOut: false, output: 'hello\noops\n' });
    expect(fine.text).toBe('hello\noops\n\n[exit code 0]');
    const bad = await worker.call('run_command', { command: 'exit 3' });
    expect(bad).toMatchObject({ isError: false, structured: { exitCode: 3 } });
    expect(bad.text).toBe('(no output)\n[exit code 3]');
  });

  test('[TOL2.32] what is too long is shown from both its ends, without colours, and can be read on', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const command = String.raw`i=0; printf '\033[31mfirst\033[0m\n'; while [ $i -lt 9000 ]; do echo "line $i"; i=$((i+1)); done; echo last`;
    const { text, structured } = await worker.call('run_command', { command });
    expect(text.length).toBeLessThanOrEqual(25_000);
    expect(text).toMatch(/^first\nline 0\n[^]*characters left out[^]*\nlast\n\n\[exit code 0\]\n\[Cut: /);
    const more = structured?.['more'] as { token: string; offset: number };
    const next = await worker.call('read_more', { token: more.token, offset: more.offset });
    expect(next.text).toMatch(/line 1\d\d/);
  });

  test('[TOL2.32] a command that takes too long is ended, and so is one whose call is given up', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const long = await worker.call('run_command', { command: 'echo started; sleep 60', timeout: 1_000 });
    expect(long.structured).toMatchObject({ timedOut: true, exitCode: null, output: 'started\n' });
    const stop = new AbortController();
    const call = worker.call(
      'run_command',
      { command: 'echo $$ > pid; exec sleep 60' },
      { signal: stop.signal },
    );
    const pid = await untilWritten(join(workspace.root, 'pid'));
    stop.abort();
    expect(await call).toMatchObject({ isError: true, error: { code: 'aborted' } });
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('[TOL2.33] the tests are run with the repository’s own command, paths as data', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await rig();
    const worker = await world.worker({ workspace });
    expect((await worker.call('run_tests')).text).toContain('No test command is known');
    workspace.test = 'printf "%s\\n"';
    const passed = await worker.call('run_tests', { paths: ['a b.test.ts', '$(echo oops); `echo oops`'] });
    expect(passed.structured).toMatchObject({
      passed: true,
      output: 'a b.test.ts\n$(echo oops); `echo oops`\n',
    });
    workspace.test = 'false';
    const failed = await worker.call('run_tests');
    expect(failed).toMatchObject({ isError: false, structured: { passed: false, exitCode: 1 } });
    expect(failed.text).toMatch(/^NOT passed \(false\)/);
  });
});

/** The number a command wrote, once all of it is there. */
async function untilWritten(path: string): Promise<number> {
  for (;;) {
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return Number(text);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('patterns', () => {
  const tree = { 'src/a.ts': 'const one = 1;\nlet two = 22;\n', 'src/b.ts': 'ONE\n' };

  test('[TOL2.31] a regular expression is matched line by line', async () => {
    await using workspace = await DirectoryWorkspace.make(tree);
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const found = await worker.call('search_text', { pattern: String.raw`= \d\d;$`, regex: true });
    expect(found.text).toContain('src/a.ts:2: let two = 22;\n[1 found; 2 files looked into]');
    const either = await worker.get<{ matches: unknown[] }>('search_text', {
      pattern: '^(const )?one',
      regex: true,
      caseSensitive: false,
    });
    expect(either.matches).toHaveLength(2);
    const wrong = await worker.call('search_text', { pattern: '(', regex: true });
    expect(wrong.text).toMatch(/not a regular expression[^]*leave regex out/);
  });

  test('[TOL2.31] a pattern that would never end is ended, says so, and holds up nobody else', async () => {
    await using workspace = await DirectoryWorkspace.make({ ...tree, 'z/evil.txt': `${'a'.repeat(60)}!\n` });
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const evil = worker.call('search_text', { pattern: '^(a+)+$', regex: true, timeout: 1_500 });
    // While it runs, others are served.
    expect((await worker.call('search_text', { pattern: 'two' })).structured).toMatchObject({
      complete: true,
    });
    const { structured, text } = await evil;
    expect(structured).toMatchObject({ complete: false });
    expect(text).toContain('not complete');
  });

  test('[TOL2.31] a search whose call is given up ends at once', async () => {
    await using workspace = await DirectoryWorkspace.make({ 'evil.txt': `${'a'.repeat(60)}!\n` });
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const stop = new AbortController();
    const call = worker.call(
      'search_text',
      { pattern: '^(a+)+$', regex: true, timeout: 60_000 },
      { signal: stop.signal },
    );
    await worker.call('search_text', { pattern: 'b' });
    stop.abort();
    expect(await call).toMatchObject({ error: { code: 'aborted' } });
  });
});
