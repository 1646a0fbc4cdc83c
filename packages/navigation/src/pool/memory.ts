import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Bytes of memory that a process and everything beneath it hold now; 0 if it is gone. */
export async function residentBytes(pid: number): Promise<number> {
  if (pid === 0) return 0;
  return process.platform === 'linux' ? await linuxBytes(pid) : await listedBytes(pid);
}

/** The sandbox puts processes of its own above the server: all of them are counted, each with its children. */
async function linuxBytes(pid: number): Promise<number> {
  let bytes = 0;
  const waiting = [pid];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    bytes += await residentOf(at);
    waiting.push(...(await childrenOf(at)));
  }
  return bytes;
}

async function residentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) =>
    list
      .split(' ')
      .filter((id) => id !== '')
      .map(Number),
  );
}

/** UNTESTED on other systems: what `ps` says of the process and its children. */
async function listedBytes(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,rss=']).catch(() => ({
    stdout: '',
  }));
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const family = new Set([pid]);
  for (const [id = 0, parent = 0] of rows) if (family.has(parent)) family.add(id);
  return rows.reduce((sum, [id = 0, , kilobytes = 0]) => sum + (family.has(id) ? kilobytes * 1024 : 0), 0);
}
