// Starts a process in the sandbox that never ends, on its own standard output, and waits.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openSandbox } from '../../src/sandbox/sandbox.ts';

const [root = '', home = '', path = ''] = process.argv.slice(2);
const repository = { root, gitDir: join(root, '.git'), home, objectStores: [] };
const checkout = { repository, kind: 'clone', path, agentGitDir: join(path, '.git') } as const;
const sandbox = await openSandbox({ setting: 'require', warn: () => {} });
const command = ['/bin/sh', '-c', '(trap "" TERM HUP; sleep 1000) & echo up; sleep 1000'];
const { argv, env, cwd } = await sandbox.wrap(command, {
  checkout,
  write: true,
  network: { kind: 'off' },
  loopback: [4000],
});
spawn(argv[0] ?? '', argv.slice(1), { env, cwd, stdio: ['ignore', 'inherit', 'inherit'] });
