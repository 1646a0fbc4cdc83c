import { tmpdir } from 'node:os';
import { isReveilleError } from '@reveille/protocol';
import { checkGitVersion } from '../git/version.ts';
import { findRepository } from '../repository.ts';
import { canLimit } from '../sandbox/bootstrap.ts';
import { findGroups } from '../sandbox/cgroup.ts';
import { findKeeper } from '../sandbox/keeper.ts';
import { findSandbox, type Found } from '../sandbox/probe.ts';
import type { Measure } from '../sandbox/totals.ts';
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
  /** How much the processes of a run take, as the daemon measures it; without it, what bounds a run in sum is not tried. */
  readonly measure?: Measure;
}

const NODE_MAJOR = 24;

/** Looks at everything Reveille stands on here, and tries to break out of the sandbox in every way it knows. */
export async function examine(options: ExamineOptions = {}): Promise<Finding[]> {
  const place = await findPlace(options);
  const found = await findSandbox();
  const files = await fileFindings(place.folder);
  const tried =
    options.attacks === false ? [] : [...(await tryDoor()), ...(await tryEverything(options.measure))];
  return [
    nodeFinding(),
    await gitFinding(),
    ...place.findings,
    ...files,
    ...sandboxFindings(found),
    await endFinding(found),
    boundFinding(),
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
      'system calls closed, a keyring of its own',
      bubblewrap.canFilter,
      'Install Perl: without it an agent can read the keys that the kernel keeps for you, and use calls that nobody needs.',
    ),
    part(
      'descriptors closed',
      bubblewrap.perl !== null,
      'Install Perl: without it an agent keeps what its starter left open, and each command with the network off costs a Node.',
    ),
  ];
}

/** What ends a run's processes with the run. */
async function endFinding({ kind }: Found): Promise<Finding> {
  const line = { area: 'sandbox', name: 'processes end with their run', expected: 'all of them' } as const;
  if (kind === 'bubblewrap')
    return { ...line, verdict: 'good', got: 'all of them, by the sandbox', advice: '' };
  const groups = kind === 'none' && findGroups() !== null;
  const keeper = kind === 'none' && (await findKeeper()) !== null;
  const by = [...(keeper ? ['a keeper'] : []), ...(groups ? ['control groups'] : [])].join(' and ');
  if (groups) return { ...line, verdict: 'good', got: `all of them, by ${by}`, advice: '' };
  const advice = keeper
    ? 'A process that kills its keeper gets away: install bubblewrap, or start Reveille where control groups can be made.'
    : 'A process that leaves its group and clears its environment gets away: install bubblewrap, or Perl.';
  const got = keeper ? `all of them, by ${by}` : 'those in its group or with its mark';
  return { ...line, verdict: 'weak', got, advice };
}

/** What bounds a run's memory, processes and disk in sum. */
function boundFinding(): Finding {
  const limits = findGroups()?.limits ?? false;
  return {
    area: 'sandbox',
    name: 'what a run takes is bounded in sum',
    verdict: limits ? 'good' : 'weak',
    expected: 'by control groups',
    got: limits ? 'by control groups, disk by a look at its files' : 'by a look every second',
    advice: limits
      ? ''
      : 'A run can take more for a second. Control groups (version 2) with memory and pids, in which you may make groups, bound it at once.',
  };
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
  'no filter': 'Needs Perl, and an x86-64, arm64 or riscv64 machine.',
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
