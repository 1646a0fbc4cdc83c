import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ReveilleError } from '@reveille/protocol';

const run = promisify(execFile);

/** What the demo's agents work on: a small project with a history of one commit. */
const FILES: Readonly<Record<string, string>> = {
  'README.md': '# Orders API\n\nTakes orders, one request at a time.\n',
  'CHANGELOG.md': '# Changelog\n\n## 2.3.0\n- Orders can be cancelled.\n',
  'src/server.ts':
    "import { createServer } from 'node:http';\n\ncreateServer((_, response) => response.end('ok')).listen(0);\n",
  // The plan's check: run by the integration after every merge.
  'check.sh':
    'if grep -rn "^<<<<<<< " --include="*.ts" --include="*.md" .; then exit 1; fi\necho "no conflict is left"\n',
};

/** Makes the repository. The person's own git settings and hooks do not count: it is nobody's. */
export async function makeRepository(root: string): Promise<void> {
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  await git(root, ['init', '-q', '-b', 'main']);
  await git(root, ['add', '-A']);
  await git(root, ['commit', '-q', '-m', 'Orders API 2.3.0']);
}

/** The history of a branch, as git draws it. */
export async function drawHistory(root: string, branch: string): Promise<string[]> {
  const args = ['log', '--graph', '--format=%h %s (%an)', branch];
  return (await git(root, args)).trimEnd().split('\n');
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  const who = { NAME: 'Demo', EMAIL: 'demo@reveille.invalid' };
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: cwd,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: who.NAME,
    GIT_AUTHOR_EMAIL: who.EMAIL,
    GIT_COMMITTER_NAME: who.NAME,
    GIT_COMMITTER_EMAIL: who.EMAIL,
  };
  try {
    return (await run('git', [...args], { cwd, env })).stdout;
  } catch (cause) {
    const missing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    const words = missing
      ? 'The demo needs git (2.38 or newer), which is not on the PATH. Install it and try again.'
      : `git ${args[0]} failed: ${String(cause)}`;
    throw new ReveilleError(missing ? 'git_too_old' : 'workspace_failed', words, { cause });
  }
}
