import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { ReveilleError } from '@reveille/protocol';
import { yieldToOthers } from './processes.ts';

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
  /** Is asked for the rest of the input whenever git has said something; the input stays open until it answers. */
  readonly goOn?: (said: string) => string | null;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /**
   * Reads the person's own config too, and what it says to ignore: for looking at the person's checkout the way the
   * person's git does. Never for anything an agent wrote.
   */
  readonly asPerson?: boolean;
  /** It is stopped after so long. For what may hold a pipe, at which git would wait for ever. */
  readonly patienceMs?: number | undefined;
  /** Lets everything else on the machine go first. */
  readonly background?: boolean;
  /** Outlives us if our whole process group is killed, so that it leaves no lock behind. For what takes milliseconds. */
  readonly apart?: boolean;
  /** Exit codes that are answers, not failures. 0 always is. */
  readonly accept?: readonly number[];
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command, behind the options and settings of git itself. */
const verbOf = (args: readonly string[]): string =>
  args.find((arg, i) => !arg.startsWith('-') && args[i - 1] !== '-c') ?? '';

/** A git command that failed, with what it said. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly args: readonly string[];
  readonly code: number | null;
  readonly stderr: string;

  constructor(args: readonly string[], code: number | null, stderr: string) {
    super(`git ${verbOf(args)} failed (${code ?? 'killed'}): ${stderr.trim().slice(0, 2_000)}`);
    this.args = args;
    this.code = code;
    this.stderr = stderr;
  }
}

/**
 * Settings that win over every file: no hook, no fsmonitor, no pager, no editor, no signing, no attribute file or
 * credential of the person. Transports are closed by the environment, which no file of a repository can open again.
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
  ['diff.ignoreSubmodules', 'all'],
  ['status.submoduleSummary', 'false'],
  ['advice.detachedHead', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['fetch.fsckObjects', 'true'],
  ['safe.directory', '*'],
  ['safe.bareRepository', 'all'],
];

/** The person decides how their own files are read. */
const LEFT_TO_THE_PERSON: readonly string[] = ['core.attributesFile', 'core.excludesFile'];
const AS_PERSON = HARDENED.filter(([key]) => !LEFT_TO_THE_PERSON.includes(key));

const NOBODY: NodeJS.ProcessEnv = {
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
};

const person = (): NodeJS.ProcessEnv => ({
  HOME: process.env['HOME'],
  XDG_CONFIG_HOME: process.env['XDG_CONFIG_HOME'],
});

/** The whole environment of a git process: nothing of ours is inherited but the way to the programs. */
function environment(call: GitCall): NodeJS.ProcessEnv {
  const settings = call.asPerson ? AS_PERSON : HARDENED;
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    TMPDIR: process.env['TMPDIR'] ?? '/tmp',
    ...(call.asPerson ? person() : NOBODY),
    LC_ALL: 'C',
    LANGUAGE: 'C',
    GIT_DIR: call.gitDir,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    GIT_EDITOR: 'false',
    GIT_PAGER: 'cat',
    GIT_NO_REPLACE_OBJECTS: '1',
    // Only some versions know the first. With the second, an object that is not there is not fetched by any of them:
    // a repository's config names the program that a fetch starts.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
    GIT_CONFIG_COUNT: String(settings.length),
  };
  settings.forEach(([key, value], i) => {
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

export async function gitBytes(call: GitCall): Promise<GitBytes> {
  const { patienceMs, signal } = call;
  if (patienceMs === undefined) return await runGit(call);
  const timeout = AbortSignal.timeout(patienceMs);
  return await runGit({ ...call, signal: signal ? AbortSignal.any([signal, timeout]) : timeout }).catch(
    (error: unknown) => {
      throw timeout.aborted && !signal?.aborted ? tookTooLong(call.args, patienceMs, error) : error;
    },
  );
}

type GitBytes = Omit<GitAnswer, 'stdout'> & { readonly stdout: Buffer };

const tookTooLong = (args: readonly string[], ms: number, cause: unknown): ReveilleError =>
  new ReveilleError(
    'workspace_failed',
    `git ${verbOf(args)} did not end within ${Math.round(ms / 1000)} s and was stopped. Look for a pipe or a device among the files that it reads: those of the checkout, and what its config includes.`,
    { cause },
  );

async function runGit(call: GitCall): Promise<GitBytes> {
  call.signal?.throwIfAborted();
  const child = spawn('git', [...plainDiff(call.args)], {
    cwd: call.workTree ?? call.gitDir,
    env: environment(call),
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: call.signal,
    detached: call.apart ?? false,
  });
  const end = ended(child);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  // A process that could not be started has no streams where the descriptors for them were missing.
  if (child.pid !== undefined) {
    if (call.background) yieldToOthers(child.pid);
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    feed(child, call, stdout);
  }
  const code = await end.catch((error: unknown) => {
    throw isMissing(error) ? missing(call) : error;
  });
  const said = Buffer.concat(stderr).toString('utf8');
  if (code === null || (code !== 0 && !call.accept?.includes(code)))
    throw new GitError(call.args, code, said);
  return { code, stdout: Buffer.concat(stdout), stderr: said };
}

function feed(child: ChildProcessWithoutNullStreams, call: GitCall, stdout: readonly Buffer[]): void {
  // Git may end before it has read all of its input.
  child.stdin.on('error', () => undefined);
  const { goOn } = call;
  if (!goOn) {
    child.stdin.end(call.input ?? '');
    return;
  }
  child.stdin.write(call.input ?? '');
  child.stdout.on('data', () => {
    const rest = child.stdin.writableEnded ? null : goOn(Buffer.concat(stdout).toString('utf8'));
    if (rest !== null) child.stdin.end(rest);
  });
}

/** A diff program that a config names cannot be taken back by another setting, only by an option of `git diff`. */
const plainDiff = (args: readonly string[]): readonly string[] => {
  const verb = args.indexOf(verbOf(args));
  if (args[verb] !== 'diff') return args;
  return [...args.slice(0, verb + 1), '--no-ext-diff', '--no-textconv', ...args.slice(verb + 1)];
};

/** Resolves when it is over, also one that was given up: what it was writing to may be taken away then. */
async function ended(child: ChildProcess): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    let failure: Error | null = null;
    child.once('error', (error) => {
      failure = error;
      // It never began.
      if (child.pid === undefined) reject(error);
    });
    child.once('close', (code) => (failure ? reject(failure) : resolve(code)));
  });
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
