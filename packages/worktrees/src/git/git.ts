import { spawn } from 'node:child_process';
import { ReveilleError } from '@reveille/protocol';

/**
 * Where a git command works. Both directories are always pinned by the environment: git never looks for a
 * repository itself, so nothing an agent wrote (a `.git` file, a nested repository) can lead it elsewhere (BND4).
 */
export interface GitPlace {
  readonly gitDir: string;
  readonly workTree?: string;
  /** An index of its own, so that nobody else's is touched. */
  readonly indexFile?: string;
  /** Further places to read objects from, for this command only. */
  readonly alternates?: readonly string[];
}

export interface GitCall extends GitPlace {
  readonly args: readonly string[];
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Exit codes that are answers, not failures. 0 always is. */
  readonly accept?: readonly number[];
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A git command that failed, with what it said. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly args: readonly string[];
  readonly code: number | null;
  readonly stderr: string;

  constructor(args: readonly string[], code: number | null, stderr: string) {
    super(
      `git ${args.find((arg) => !arg.startsWith('-')) ?? ''} failed (${code ?? 'killed'}): ${stderr.trim().slice(0, 2_000)}`,
    );
    this.args = args;
    this.code = code;
    this.stderr = stderr;
  }
}

/**
 * Settings that win over every file: no hook, no fsmonitor, no pager, no editor, no signing, no attribute file or
 * credential of the person, and no transport but the local one.
 */
const HARDENED: readonly (readonly [key: string, value: string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.quotePath', 'false'],
  ['core.precomposeUnicode', 'false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['diff.external', ''],
  ['diff.ignoreSubmodules', 'all'],
  ['status.submoduleSummary', 'false'],
  ['merge.renames', 'true'],
  ['advice.detachedHead', 'false'],
  ['protocol.allow', 'never'],
  ['protocol.file.allow', 'always'],
  ['transfer.fsckObjects', 'true'],
  ['fetch.fsckObjects', 'true'],
  ['safe.directory', '*'],
  ['safe.bareRepository', 'all'],
];

/** The whole environment of a git process: nothing of ours is inherited but the way to the programs. */
function environment(
  call: GitPlace & { readonly env?: Readonly<Record<string, string>> },
): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    TMPDIR: process.env['TMPDIR'] ?? '/tmp',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    LANGUAGE: 'C',
    GIT_DIR: call.gitDir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    GIT_EDITOR: 'false',
    GIT_PAGER: 'cat',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_CONFIG_COUNT: String(HARDENED.length),
  };
  HARDENED.forEach(([key, value], i) => {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  if (call.workTree) env['GIT_WORK_TREE'] = call.workTree;
  if (call.indexFile) env['GIT_INDEX_FILE'] = call.indexFile;
  // Each is quoted as git reads it: a path may hold a colon.
  if (call.alternates?.length)
    env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] = call.alternates.map(quoteAlternate).join(':');
  return { ...env, ...call.env };
}

const quoteAlternate = (path: string): string => `"${path.replaceAll(/["\\]/g, '\\$&')}"`;

/** Runs git with an argument array and answers with what it printed; anything but an accepted code is a GitError. */
export async function git(call: GitCall): Promise<GitAnswer> {
  const answer = await gitBytes(call);
  return { ...answer, stdout: answer.stdout.toString('utf8') };
}

export async function gitBytes(
  call: GitCall,
): Promise<Omit<GitAnswer, 'stdout'> & { readonly stdout: Buffer }> {
  call.signal?.throwIfAborted();
  const child = spawn('git', [...call.args], {
    cwd: call.workTree ?? call.gitDir,
    env: environment(call),
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: call.signal,
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // Git may end before it has read all of its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(call.input ?? '');
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((error: unknown) => {
    throw isMissing(error) ? missing(call) : error;
  });
  const said = Buffer.concat(stderr).toString('utf8');
  if (code === null || (code !== 0 && !call.accept?.includes(code)))
    throw new GitError(call.args, code, said);
  return { code, stdout: Buffer.concat(stdout), stderr: said };
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Node says ENOENT for a program and for a folder that is not there alike. */
const missing = (call: GitCall): ReveilleError =>
  new ReveilleError(
    'not_found',
    `git cannot be started: it is not on the PATH, or the folder ${call.workTree ?? call.gitDir} is gone.`,
    {
      data: { folder: call.workTree ?? call.gitDir },
    },
  );
