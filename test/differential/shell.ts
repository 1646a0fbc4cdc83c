import { spawn } from 'node:child_process';

/** What a command of a test left: its output has one character for each byte, because file names need not be text. */
export interface ShellAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ShellCall {
  readonly cwd: string;
  readonly script: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

const LONGEST_MS = 60_000;

/** The environment of the person, of agents and of the model alike: nothing of the machine's own git settings gets in. */
export const environmentIn = (home: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '/usr/bin:/bin',
  HOME: home,
  GIT_CONFIG_NOSYSTEM: '1',
  LC_ALL: 'C.UTF-8',
});

/** Runs a script with bash, which ends at the first command that fails. */
export async function shell({ cwd, script, env = {}, input = '' }: ShellCall): Promise<ShellAnswer> {
  return await new Promise((resolve, reject) => {
    const child = spawn('bash', ['-ec', script], { cwd, env, timeout: LONGEST_MS, killSignal: 'SIGKILL' });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', () => undefined); // a script that ends early reads no more
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({
        code: code ?? 1,
        stdout: Buffer.concat(out).toString('latin1'),
        stderr: Buffer.concat(err).toString('latin1'),
      }),
    );
    child.stdin.end(Buffer.from(input, 'latin1'));
  });
}

/** The same for what cannot fail unless the test itself is wrong. */
export async function need(call: ShellCall): Promise<string> {
  const { code, stdout, stderr } = await shell(call);
  if (code === 0) return stdout;
  throw new Error(`This ended with ${code}: ${call.script.slice(0, 500)}\n${stderr.slice(0, 2_000)}`);
}

/** Runs scripts one after another in one process, each on its own as `shell` would, and answers with what they ended with. */
export async function shellEach(
  call: Omit<ShellCall, 'script' | 'input'>,
  scripts: readonly string[],
): Promise<number[]> {
  if (scripts.length === 0) return [];
  const each = scripts.map((script) => `( set -e\n:\n${script}\n) >/dev/null 2>&1 </dev/null; echo $?`);
  const { stdout } = await shell({ ...call, script: `set +e\n${each.join('\n')}` });
  const codes = stdout.trimEnd().split('\n').map(Number);
  if (codes.length !== scripts.length) throw new Error(`Of ${scripts.length} scripts ${codes.length} ended.`);
  return codes;
}
