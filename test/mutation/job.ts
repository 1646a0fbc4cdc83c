import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ROOT } from './mutants.ts';

/** A process that looks for a mutant. */
export interface Job {
  readonly script: string;
  readonly args: readonly string[];
  /** Of the processor, for each process: whoever takes more is in a loop without end. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

export interface JobEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly said: string;
  readonly late: boolean;
}

export async function runJob(job: Job, env: Readonly<Record<string, string>>): Promise<JobEnd> {
  const script = fileURLToPath(new URL(job.script, import.meta.url));
  const node = [
    process.execPath,
    '--conditions=source',
    '--no-warnings',
    '--max-old-space-size=1500',
    script,
  ];
  const args = ['-c', 'ulimit -t "$0"; exec "$@"', String(Math.ceil(job.cpuSeconds)), ...node, ...job.args];
  // In a process group of its own, to be ended with all it started.
  const running = spawn('sh', args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let said = '';
  const hear = (data: Buffer): void => void (said = (said + data.toString()).slice(-4_000));
  running.stdout.on('data', hear);
  running.stderr.on('data', hear);
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    endGroup(running.pid);
  }, job.wallSeconds * 1_000);
  const interrupt = (): void => endGroup(running.pid);
  process.on('exit', interrupt);
  return new Promise((resolve, reject) => {
    running.once('error', reject);
    running.once('exit', (code, signal) => {
      clearTimeout(limit);
      process.off('exit', interrupt);
      // Workers that are in a loop outlive their parent.
      endGroup(running.pid);
      resolve({ code, signal, said, late });
    });
  });
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
