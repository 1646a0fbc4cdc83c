import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const BINARY = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin', 'reveille.cjs');

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** What is left in the folder for temporary files, which each run has to itself. */
  readonly left: string[];
}

/** The real program in a process of its own. `meanwhile` is told each time it writes. */
async function reveille(
  args: string[],
  meanwhile?: (child: ReturnType<typeof start>, out: string) => void,
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-test-'));
  try {
    const child = start(args, folder);
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      meanwhile?.(child, out);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    // A machine without a sandbox says so, once; it is no fault of the demo.
    const rest = err.replace(/^The engine warned: Agents and commands run without a sandbox.*\n/m, '');
    return { code, out, err: rest, left: readdirSync(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function start(args: string[], folder: string) {
  const env = { ...process.env, TMPDIR: folder };
  return spawn(process.execPath, [BINARY, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

describe.concurrent('reveille', { timeout: 60_000 }, () => {
  test('says what it can do', async () => {
    for (const args of [[], ['--help']]) {
      const { code, out, err } = await reveille(args);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('reveille <command>');
    }
  });

  test('says what a command can do', async () => {
    for (const args of [
      ['demo', '--help'],
      ['help', 'demo'],
    ]) {
      const { code, out } = await reveille(args);
      expect(code).toBe(0);
      expect(out).toContain('--speed N');
    }
  });

  test('says its version', async () => {
    const { code, out } = await reveille(['--version']);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  test.each([
    [['dmeo'], 'There is no command "dmeo". Did you mean demo?'],
    [['--halp'], 'There is no option "--halp". Did you mean --help?'],
    [['demo', '--fast'], '--fast'],
    [['demo', '--speed', 'much'], '--speed takes a number from 0.1 to 100, not "much".'],
  ])('refuses %j with one clear sentence', async (args, sentence) => {
    const { code, out, err } = await reveille(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(sentence);
    expect(err).toContain('--help');
    expect(err).not.toContain('    at ');
  });
});

describe.concurrent('reveille demo', { timeout: 300_000 }, () => {
  test('runs a plan to its end and says what ran, who woke whom and how fast', async () => {
    const { code, out, err, left } = await reveille(['demo', '--speed', '20']);
    expect({ code, err, left }).toEqual({ code: 0, err: '', left: [] });
    expect(out).toContain(
      '9 tasks and 4 subtasks, 14 attempts: 13 completed, 1 failed (and was tried again).',
    );
    expect(out).toMatch(/tests ← clock skew +[\d.]+, [\d.]+ ms +failed, then success/);
    expect(out).toMatch(/middleware ← you +[\d.]+ ms +answer/);
    expect(out).toMatch(/16 wake-ups: p50 [\d.]+ ms, max [\d.]+ ms/);
    expect(out).toContain('What was merged (git log --graph)');
    expect(out).not.toContain('\u001b');
  });

  test('prints every event, in order and without a gap, and the summary, and keeps its folder if asked to', async () => {
    const { code, out, err, left } = await reveille(['demo', '--speed', '20', '--json', '--keep']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(left).toHaveLength(1);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const summary = lines.pop();
    expect(lines.map((event) => event['number'])).toEqual(lines.map((_, i) => i + 1));
    expect(lines.filter((event) => event['type'] === 'run.ended')).toHaveLength(14);
    expect(summary).toMatchObject({
      type: 'demo.summary',
      state: 'completed',
      attempts: 14,
      ends: { completed: 13, failed: 1 },
      history: expect.arrayContaining([expect.stringContaining('Merge "tests"')]),
      folder: expect.stringContaining(left[0]!),
    });
  });

  test('Ctrl-C ends it cleanly, with a sentence', async () => {
    let sent = false;
    const { code, err, left } = await reveille(['demo'], (child, out) => {
      if (!sent && out.includes('running')) sent = child.kill('SIGINT');
    });
    expect({ code, left }).toEqual({ code: 130, left: [] });
    expect(err).toMatch(
      /^\nStopped after [\d.]+ s, with \d of \d+ tasks done\. Its folder is deleted; nothing is left running\.\n$/,
    );
  });

  test('ends when nobody reads it any more', async () => {
    const { code, err, left } = await reveille(['demo', '--speed', '10'], (child) => child.stdout.destroy());
    expect({ code, err, left }).toEqual({ code: 0, err: '', left: [] });
  });
});
