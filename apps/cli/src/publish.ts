import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ReveilleError, type Plan, type TaskView } from '@reveille/protocol';
import { withoutGit } from './repository.ts';
import { oneLine } from './view/columns.ts';
import { plural } from './view/words.ts';

const run = promisify(execFile);
/** Of what a program printed, in an error. */
const LAST_WORDS = 2_000;

interface Publication {
  readonly repository: string;
  readonly branch: string;
  readonly remote: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What a pull request says. */
export interface Words {
  readonly title: string;
  readonly body: string;
  /** The branch it is to be merged into; null: the forge's default one. */
  readonly base: string | null;
}

/** Opened, with its address, or not, with the commands that would. */
export type Opened =
  | { readonly url: string; readonly commands?: never }
  | { readonly url: null; readonly why: string; readonly commands: readonly string[] };

/** The person's own git, with their settings and credentials: they asked for it, and nothing of an agent is run by it. */
export async function push({ repository, branch, remote, env }: Publication): Promise<void> {
  const remotes = (await git(repository, env, ['remote'])).split('\n').filter((name) => name !== '');
  if (!remotes.includes(remote)) {
    const known = remotes.length > 0 ? `It has ${remotes.join(', ')}.` : 'It has none.';
    throw new ReveilleError(
      'not_found',
      `${repository} has no remote "${oneLine(remote)}". ${known} Name one with --remote.`,
    );
  }
  await git(repository, env, ['push', '--', remote, `refs/heads/${branch}:refs/heads/${branch}`]);
}

/** By the forge's own program, as the person is logged in there; where there is none, the commands to run. */
export async function openRequest(publication: Publication, words: Words): Promise<Opened> {
  const { repository, branch, remote, env } = publication;
  const url = (await git(repository, env, ['remote', 'get-url', '--', remote])).trim();
  const forge = forgeOf(url);
  if (!forge) {
    const why = `Nothing is known of the forge at ${withoutSecret(url)}.`;
    return { url: null, why, commands: [`open a pull request there from ${branch}`] };
  }
  const [program, ...args] = forge(branch, words);
  const commands = [[program, ...args].map(quoted).join(' ')];
  try {
    const { stdout } = await run(program, args, { cwd: repository, env: withoutGit(env) });
    const [address] = /https?:\/\/\S+/.exec(stdout) ?? [];
    return address ? { url: address } : { url: null, why: `${program} named no address.`, commands };
  } catch (cause) {
    return { url: null, why: whyNot(program, cause), commands };
  }
}

type Argv = readonly [program: string, ...args: string[]];
type Forge = (branch: string, words: Words) => Argv;

const gh: Forge = (branch, { title, body, base }) => [
  'gh',
  'pr',
  'create',
  `--head=${branch}`,
  ...(base === null ? [] : [`--base=${base}`]),
  `--title=${title}`,
  `--body=${body}`,
];
const glab: Forge = (branch, { title, body, base }) => [
  'glab',
  'mr',
  'create',
  '--yes',
  `--source-branch=${branch}`,
  ...(base === null ? [] : [`--target-branch=${base}`]),
  `--title=${title}`,
  `--description=${body}`,
];

function forgeOf(url: string): Forge | null {
  const host = /^(?:[a-z+]+:\/\/)?(?:[^/@]*@)?([^/:]+)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (host.includes('github')) return gh;
  return host.includes('gitlab') ? glab : null;
}

const withoutSecret = (url: string): string => oneLine(url.replace(/\/\/[^/@]*@/, '//'));

function whyNot(program: string, cause: unknown): string {
  const { code, stderr } = cause as { code?: unknown; stderr?: string };
  if (code === 'ENOENT') return `${program} is not installed.`;
  return `${program} did not: ${oneLine(stderr ?? String(cause)).slice(-LAST_WORDS)}`;
}

/** For a person to copy into a shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

async function git(repository: string, env: NodeJS.ProcessEnv, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('git', ['-C', repository, ...args], { env: withoutGit(env) });
    return stdout;
  } catch (cause) {
    const { stderr = String(cause) } = cause as { stderr?: string };
    throw new ReveilleError('wrong_state', `git ${args[0]} failed: ${stderr.trim().slice(-LAST_WORDS)}`, {
      cause,
    });
  }
}

/** Facts, and no words of agents: what they say is no text for other people's mail. */
export function wordsOf(plan: Plan, tasks: readonly TaskView[]): Words {
  const made = tasks.filter(({ task }) => task.id !== plan.integration);
  const lines = made.map(({ task, end }) => {
    const files = end?.work?.files ?? [];
    const sum = files.reduce(
      (all, { insertions, deletions }) => ({ plus: all.plus + insertions, minus: all.minus + deletions }),
      { plus: 0, minus: 0 },
    );
    return `- ${oneLine(task.name)}: ${task.state}, ${plural(files.length, 'file')}, +${sum.plus} −${sum.minus}`;
  });
  return {
    title: oneLine(plan.name),
    body: [...(plan.description === '' ? [] : [plan.description, '']), ...lines].join('\n'),
    base: plan.baseBranch,
  };
}
