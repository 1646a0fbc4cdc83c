import { tmpdir } from 'node:os';
import { isReveilleError } from '@reveille/protocol';
import { checkGitVersion } from '../git/version.ts';
import { findRepository } from '../repository.ts';
import { canLimit } from '../sandbox/bootstrap.ts';
import { findSandbox, type Found } from '../sandbox/probe.ts';
import { tryDoor } from './door.ts';
import { tryFileSystem } from './files.ts';
import { tryEverything, type Tried } from './matrix.ts';

/** One thing that was looked at. */
export interface Finding {
  readonly area: 'system' | 'files' | 'sandbox' | 'boundary';
  readonly name: string;
  /** `weak`: it works, with less than there could be. `bad`: something promised does not hold here. */
  readonly verdict: 'good' | 'weak' | 'bad';
  readonly expected: string;
  readonly got: string;
  /** What to know or do about it. Empty if nothing. */
  readonly advice: string;
}

export interface ExamineOptions {
  /** A folder in the repository that tasks are to work on; its file system is the one that counts. */
  readonly repositoryPath?: string;
  /** Where its worktrees are made, if a setting says so. */
  readonly worktrees?: string;
  /** False: the attacks are not run, which takes a second or two, and nothing is said about what is enforced. */
  readonly attacks?: boolean;
}

const NODE_MAJOR = 24;

/** Looks at everything Reveille stands on here, and tries to break out of the sandbox in every way it knows. */
export async function examine(options: ExamineOptions = {}): Promise<Finding[]> {
  const place = await findPlace(options);
  const found = await findSandbox();
  const files = await fileFindings(place.folder);
  const tried = options.attacks === false ? [] : [...(await tryDoor()), ...(await tryEverything())];
  return [
    nodeFinding(),
    await gitFinding(),
    ...place.findings,
    ...files,
    ...sandboxFindings(found),
    ...tried.map(boundaryFinding),
  ];
}

function nodeFinding(): Finding {
  const good = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;
  return {
    area: 'system',
    name: 'Node.js',
    verdict: good ? 'good' : 'bad',
    expected: `${NODE_MAJOR} or newer`,
    got: process.versions.node,
    advice: good ? '' : 'Install a newer Node.js.',
  };
}

async function gitFinding(): Promise<Finding> {
  const line = { area: 'system', name: 'git', expected: '2.38 or newer' } as const;
  try {
    return { ...line, verdict: 'good', got: await checkGitVersion(tmpdir()), advice: '' };
  } catch (error) {
    const version = isReveilleError(error) ? error.data['version'] : null;
    const got = typeof version === 'string' ? version : 'none';
    return { ...line, verdict: 'bad', got, advice: error instanceof Error ? error.message : String(error) };
  }
}

/** Where worktrees would be made. Without a repository: the temporary folder, so that there is something to say. */
async function findPlace({
  repositoryPath,
  worktrees,
}: ExamineOptions): Promise<{ folder: string; findings: Finding[] }> {
  if (repositoryPath === undefined) return { folder: worktrees ?? tmpdir(), findings: [] };
  const line = { area: 'system', name: 'repository', expected: 'one that tasks can work on' } as const;
  try {
    const { home, root } = await findRepository(repositoryPath, { home: worktrees ?? null });
    return { folder: home, findings: [{ ...line, verdict: 'good', got: root, advice: '' }] };
  } catch (error) {
    const advice = error instanceof Error ? error.message : String(error);
    return { folder: tmpdir(), findings: [{ ...line, verdict: 'bad', got: repositoryPath, advice }] };
  }
}

async function fileFindings(folder: string): Promise<Finding[]> {
  const abilities = await tryFileSystem(folder).catch((error: unknown) => String(error));
  if (typeof abilities === 'string')
    return [
      {
        area: 'files',
        name: 'writable',
        verdict: 'bad',
        expected: 'yes',
        got: 'no',
        advice: `${folder}: ${abilities}`,
      },
    ];
  return abilities.map(({ name, has, optional, why }) => ({
    area: 'files',
    name,
    verdict: has ? 'good' : optional ? 'weak' : 'bad',
    expected: 'yes',
    got: has ? 'yes' : 'no',
    advice: why,
  }));
}

function sandboxFindings(found: Found): Finding[] {
  const { kind, version, why, bubblewrap } = found;
  const got = version === null ? kind : `${kind} ${version}`;
  const verdict = ({ bubblewrap: 'good', seatbelt: 'weak', none: 'bad' } as const)[kind];
  const first: Finding = {
    area: 'sandbox',
    name: 'sandbox',
    verdict,
    expected: 'bubblewrap',
    got,
    advice: verdict === 'good' ? '' : why,
  };
  if (bubblewrap === null) return [first];
  return [
    first,
    part(
      'limits of processes, memory and files',
      canLimit(bubblewrap),
      'Install Perl or util-linux (prlimit): without them nothing stops a fork bomb.',
    ),
    part(
      'nested user namespaces closed',
      bubblewrap.host.canDisableUserns,
      'A newer bubblewrap (0.8) can close them.',
    ),
    part(
      'a network of its own',
      bubblewrap.canUnshareNetwork,
      'Commands cannot be kept off the network here: probably a container forbids it.',
    ),
    part(
      'abstract sockets cut off',
      bubblewrap.canScope,
      'With the network on, agents can reach X11 and others: Linux 6.12 and Perl can prevent it; or turn the network off.',
    ),
    part(
      'descriptors closed',
      bubblewrap.perl !== null,
      'Install Perl: without it an agent keeps what its starter left open, and each command with the network off costs a Node.',
    ),
  ];
}

const part = (name: string, has: boolean, advice: string): Finding => ({
  area: 'sandbox',
  name,
  verdict: has ? 'good' : 'weak',
  expected: 'yes',
  got: has ? 'yes' : 'no',
  advice: has ? '' : advice,
});

const GAPS = {
  root: 'Root is not held to a number of processes: run Reveille as another user.',
  'no limits': 'Install Perl or util-linux (prlimit).',
  'no scope': 'Needs Linux 6.12 and Perl.',
} as const;

function boundaryFinding({ group, name, expected, got, gap, detail }: Tried): Finding {
  const held = got === expected;
  return {
    area: 'boundary',
    name: `${group}: ${name}`,
    verdict: held ? 'good' : gap !== null || got === 'not tried' ? 'weak' : 'bad',
    expected,
    got,
    advice: held ? '' : gap === null ? detail : GAPS[gap],
  };
}
