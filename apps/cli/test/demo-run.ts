import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BINARY = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin', 'reveille.cjs');

export interface DemoRun {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** What it left in its folder for temporary files. */
  readonly left: string[];
}

interface Given {
  readonly env?: NodeJS.ProcessEnv;
  /** Where the SDK of an agent is installed. */
  readonly sdk?: string;
}

/** The demo in a process of its own, of a person who has nothing. */
export async function demo(args: readonly string[], { env = {}, sdk }: Given = {}): Promise<DemoRun> {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-test-'));
  const [state, temporary] = [join(folder, 'state'), join(folder, 'tmp')];
  mkdirSync(state);
  mkdirSync(temporary);
  if (sdk !== undefined) symlinkSync(sdk, join(state, 'sdk'));
  try {
    const child = spawn(process.execPath, [BINARY, 'demo', ...args], {
      env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: temporary, REVEILLE_HOME: state, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    const rest = err.replace(/^The engine warned: Agents and commands run without a sandbox.*\n/m, '');
    return {
      code,
      out,
      err: rest,
      left: readdirSync(temporary).filter((name) => name.startsWith('reveille')),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What every demo of a real agent comes to: the failed subtask is handed out again, as another one. */
export const SAME_PLAN = {
  type: 'demo.summary',
  state: 'completed',
  tasks: 9,
  subtasks: 5,
  ends: { completed: 13, failed: 1 },
};

export const lastLine = ({ out }: DemoRun): unknown => JSON.parse(out.trimEnd().split('\n').at(-1) ?? 'null');
