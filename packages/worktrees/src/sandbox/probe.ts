import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { ReveilleError } from '@reveille/protocol';
import { bwrapArgv, type Host } from './argv.ts';
import { bootstrapped } from './bootstrap.ts';
import { limitsOf } from './plan.ts';
import { runProcess, type Finished } from './process.ts';
import { prctlNumber } from './seccomp.ts';
import { procMounts, programOnPath, systemMounts, systemProgram } from './system.ts';

/** What sandbox this machine has, and what is missing of it. */
export interface Probe {
  readonly kind: 'bubblewrap' | 'seatbelt' | 'none';
  readonly version: string | null;
  /** One or two sentences: what was found, or why there is none and what to do. */
  readonly why: string;
}

/** Bubblewrap as it was found, ready to be used. */
export interface Bubblewrap {
  readonly host: Host;
  /** Starts the command, without which descriptors are not closed and every door needs a Node. */
  readonly perl: string | null;
  readonly prlimit: string | null;
  /** This machine's abstract sockets can be cut off while its network is shared. */
  readonly canScope: boolean;
  /** System calls that nobody needs can be closed, and with them the person's keyring. */
  readonly canFilter: boolean;
  /** A network of its own can be made. In some containers it cannot. */
  readonly canUnshareNetwork: boolean;
  readonly hardOpenFiles: number;
}

export interface Found extends Probe {
  readonly bubblewrap: Bubblewrap | null;
}

const TRIAL_MS = 60_000;

const found = new Map<string, Promise<Found>>();

/** Really runs it, once for a process and a path. */
export async function findSandbox(path = process.env['PATH'] ?? ''): Promise<Found> {
  const known = found.get(path) ?? look(path);
  found.set(path, known);
  // An answer is kept, a failure to find out is not.
  known.catch(() => found.delete(path));
  return known;
}

async function look(path: string): Promise<Found> {
  if (process.platform === 'darwin') return seatbelt();
  if (process.platform !== 'linux') return none('This system has no sandbox we know.');
  const bwrap = programOnPath('bwrap', path);
  if (bwrap === null)
    return none(
      'bubblewrap is not installed. Install it (Debian, Ubuntu, Fedora, Arch: the package bubblewrap).',
    );
  return probeBubblewrap(bwrap);
}

const none = (why: string): Found => ({ kind: 'none', version: null, why, bubblewrap: null });

function seatbelt(): Found {
  const program = programOnPath('sandbox-exec', '/usr/bin');
  if (program === null) return none('sandbox-exec is missing from this macOS.');
  return {
    kind: 'seatbelt',
    version: null,
    why: 'Seatbelt, through sandbox-exec; this has not been tested.',
    bubblewrap: null,
  };
}

async function probeBubblewrap(bwrap: string): Promise<Found> {
  const [version, help] = await Promise.all([ask([bwrap, '--version']), ask([bwrap, '--help'])]);
  const full = describeHost(bwrap, help);
  const programs = { perl: systemProgram('perl'), prlimit: systemProgram('prlimit') };
  let said = '';
  // Where bubblewrap is installed setuid it refuses some of what it knows.
  const less = { ...full, canDisableUserns: false };
  for (const host of [full, less, { ...less, canSize: false }]) {
    for (const sharesNetwork of [false, true]) {
      const trial = await tryOut({ host, ...programs, sharesNetwork, scope: false, filter: 'none' });
      said ||= trial.output.trim();
      if (trial.code !== 0) continue;
      const works = async (more: Pick<Trial, 'scope' | 'filter'>): Promise<boolean> =>
        programs.perl !== null &&
        (await tryOut({ host, ...programs, sharesNetwork: true, ...more })).code === 0;
      const canScope = await works({ scope: true, filter: 'none' });
      const canFilter = prctlNumber() !== null && (await works({ scope: false, filter: 'all' }));
      const number = /[\d.]+/.exec(version)?.[0] ?? null;
      const bubblewrap = {
        host,
        ...programs,
        canScope,
        canFilter,
        canUnshareNetwork: !sharesNetwork,
        hardOpenFiles: hardOpenFiles(),
      };
      return {
        kind: 'bubblewrap',
        version: number,
        why: `bubblewrap ${number ?? ''} runs here.`,
        bubblewrap,
      };
    }
  }
  return none(
    `${bwrap} is there, but may not be used here (${said || 'it says nothing'}). User namespaces must be allowed: ` +
      'outside of a container, or in one that permits them; on Ubuntu with an AppArmor profile for bwrap.',
  );
}

interface Trial {
  readonly host: Host;
  readonly perl: string | null;
  readonly prlimit: string | null;
  readonly sharesNetwork: boolean;
  readonly scope: boolean;
  readonly filter: 'all' | 'none';
}

/** With everything that every sandbox gets, so that what works once works always. */
async function tryOut({ host, perl, prlimit, sharesNetwork, scope, filter }: Trial): Promise<Finished> {
  const limits = limitsOf({}, hardOpenFiles());
  const bootstrap = { perl, prlimit, node: process.execPath, limits, scope, filter, doors: [] };
  const places = { system: systemMounts(), mounts: [], home: homedir(), tmp: null, cwd: '/' };
  const plan = { ...places, sharesNetwork, nested: false, emptyBytes: 2 ** 20, status: true, env: {} };
  const argv = bwrapArgv(host, plan, bootstrapped(['/bin/sh', '-c', ':'], bootstrap));
  const start = { argv, env: { PERL_BADLANG: '0' }, cwd: '/', status: true };
  const trial = await runProcess(start, { timeoutMs: TRIAL_MS });
  // A machine that is too busy to tell is not one without a sandbox.
  if (trial.ended === null) return trial;
  throw new ReveilleError(
    'sandbox_missing',
    `${host.bwrap} did not start anything within ${TRIAL_MS / 1_000} s.`,
  );
}

async function ask(argv: readonly string[]): Promise<string> {
  return (await runProcess({ argv, env: {}, cwd: '/', status: false }, { timeoutMs: TRIAL_MS })).output;
}

function describeHost(bwrap: string, help: string): Host {
  const root = process.getuid?.() === 0;
  return {
    bwrap,
    canSize: help.includes('--size '),
    canDisableUserns: help.includes('--disable-userns '),
    proc: procMounts(root),
    root,
  };
}

/** A limit may be lowered by anybody and raised by nobody. */
function hardOpenFiles(): number {
  const line = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
  return line === null ? Infinity : Number(line[1]);
}
