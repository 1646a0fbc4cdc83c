import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { bwrapArgv, type Mount } from './argv.ts';
import { bootstrapped } from './bootstrap.ts';
import type { Confinement } from './confinement.ts';
import type { Doors } from './doors.ts';
import type { Keeper } from './keeper.ts';
import type { Totals } from './totals.ts';
import { innerEnv, pathInside, splitEnv } from './env.ts';
import { guardMounts } from './guard.ts';
import { checkoutMounts, limitsOf, namedMounts } from './plan.ts';
import type { Bubblewrap } from './probe.ts';
import { seatbeltArgv } from './seatbelt.ts';
import { isSeen, systemMounts } from './system.ts';

/** A command to be started just so: these arguments, this environment and no other, this folder. */
export interface Launch {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Whether a keeper stands above the command, which ends everything below it. */
  readonly kept: boolean;
  /** To be called when the process has ended: its doors close. */
  readonly dispose: () => Promise<void>;
}

/** What every wrapping needs besides the command. */
export interface Surroundings {
  readonly confinement: Confinement;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Reveille's own folders. */
  readonly own: readonly string[];
  readonly doors: Doors;
  /** Whether bubblewrap is to say on the fourth descriptor which process is the sandbox's first, and how it ended. */
  readonly status: boolean;
  /** Null: it cannot be had here. */
  readonly keeper: Keeper | null;
  readonly totals: Totals;
}

/** Where the doors are inside: sockets in a folder, and a port for the proxy unless it is taken. */
const SOCKETS = '/run/reveille';
const PROXY_PORT = 3_128;

export async function wrapInBubblewrap(
  command: readonly string[],
  bubblewrap: Bubblewrap,
  { confinement, env, home, own, doors, status, totals }: Surroundings,
): Promise<Launch> {
  const { host, perl, prlimit, canScope, canFilter, canUnshareNetwork, hardOpenFiles } = bubblewrap;
  const sharesNetwork = confinement.network.kind === 'on';
  if (!sharesNetwork && !canUnshareNetwork)
    throw new ReveilleError(
      'sandbox_missing',
      'The network cannot be taken away here, and the setting is not on.',
    );
  const { system, mounts } = mountsOf(confinement, home, own);
  const variables = innerEnv({
    outer: env,
    path: pathInside(env, (folder) => isSeen([...system, ...mounts], folder)),
    home,
    proxyPort: proxyPortOf(confinement),
    locks: confinement.write && confinement.checkout.kind === 'clone',
    extra: confinement.env ?? {},
  });
  const { started, told } = splitEnv(variables, perl !== null);
  const plan = {
    system,
    home,
    tmp: confinement.tmp ?? null,
    cwd: confinement.checkout.path,
    sharesNetwork,
    nested: confinement.nested ?? false,
    emptyBytes: emptyBytes(totals),
    status,
    env: told,
  };
  const limits = limitsOf(confinement.limits, hardOpenFiles);
  const ways = sharesNetwork ? NO_WAYS : await openWays(confinement, doors);
  const scope = sharesNetwork && canScope;
  const filter = canFilter ? (plan.nested ? 'nested' : 'all') : 'none';
  const bootstrap = {
    perl,
    prlimit,
    node: process.execPath,
    limits,
    scope,
    filter,
    doors: ways.doors,
  } as const;
  const inner = bootstrapped(command, bootstrap);
  const argv = bwrapArgv(host, { ...plan, mounts: [...mounts, ...ways.mounts] }, inner);
  return { argv, env: started, cwd: '/', kept: false, dispose: ways.release };
}

/** Everything of this machine that will be seen inside, but for the sockets of the doors, which are ours. */
function mountsOf(
  confinement: Confinement,
  home: string,
  own: readonly string[],
): { readonly system: readonly Mount[]; readonly mounts: readonly Mount[] } {
  const { tmp, lent = [] } = confinement;
  const [system, checkout, named] = [
    systemMounts(),
    checkoutMounts(confinement, home),
    namedMounts(confinement, home),
  ];
  const temporary = tmp === undefined ? [] : [{ kind: 'write', at: '/tmp', from: tmp } as const];
  const covers = guardMounts({ system, checkout: [...checkout, ...temporary], named }, { own, lent });
  return { system: [...system, ...covers], mounts: [...checkout, ...named] };
}

/** The ways out of a network of its own: what is mounted for them, and what listens for them inside. */
interface Ways {
  readonly mounts: readonly Mount[];
  readonly doors: readonly (readonly [port: number, socket: string])[];
  readonly release: () => Promise<void>;
}

const NO_WAYS: Ways = { mounts: [], doors: [], release: async () => {} };

async function openWays(confinement: Confinement, doors: Doors): Promise<Ways> {
  const { network, loopback = [] } = confinement;
  const wanted = [
    ...[...new Set(loopback)].map((port) => [port, { port }] as const),
    ...(network.kind === 'list' ? [[proxyPort(loopback), { hosts: network.hosts }] as const] : []),
  ];
  const taken: { port: number; door: Awaited<ReturnType<Doors['take']>> }[] = [];
  const release = async (): Promise<void> => {
    await Promise.all(taken.map(async ({ door }) => door.release()));
  };
  try {
    for (const [port, beyond] of wanted) taken.push({ port, door: await doors.take(beyond) });
  } catch (error) {
    await release();
    throw error;
  }
  return {
    mounts: taken.map(({ port, door }) => ({ kind: 'read', at: `${SOCKETS}/${port}`, from: door.socket })),
    doors: taken.map(({ port }) => [port, `${SOCKETS}/${port}`]),
    release,
  };
}

/** Inside all ports are free but those of the doors. */
function proxyPort(taken: readonly number[]): number {
  return taken.includes(PROXY_PORT) ? proxyPort(taken.map((port) => port - 1)) + 1 : PROXY_PORT;
}

const proxyPortOf = ({ network, loopback = [] }: Confinement): number | null =>
  network.kind === 'list' ? proxyPort(loopback) : null;

/**
 * UNTESTED. Seatbelt has no mounts and no network of its own: places keep their paths, `TMPDIR` is a folder made for this one,
 * and the proxy of a list listens on a loopback port, which is the only one besides those named that can be reached.
 */
export async function wrapInSeatbelt(
  command: readonly string[],
  { confinement, env, home, own, doors }: Surroundings,
): Promise<Launch> {
  const { network, loopback = [], checkout } = confinement;
  const { mounts } = mountsOf(confinement, home, own);
  const proxy = network.kind === 'list' ? await doors.take({ hosts: network.hosts, onPort: true }) : null;
  const tmp = confinement.tmp ?? (await mkdtemp(join(tmpdir(), 'reveille-tmp-')));
  const dispose = async (): Promise<void> => {
    await proxy?.release();
    if (confinement.tmp === undefined) await rm(tmp, { recursive: true, force: true });
  };
  const port = proxy?.port ?? null;
  const extra = { TMPDIR: tmp, ...confinement.env };
  const parts = {
    outer: env,
    path: pathInside(env, () => true),
    home,
    proxyPort: port,
    locks: confinement.write,
    extra,
  };
  const ports = port === null ? loopback : [...loopback, port];
  const plan = { mounts, home, own, tmp, network: network.kind === 'on' ? 'on' : 'off', ports } as const;
  const argv = seatbeltArgv(plan, command);
  return { argv, env: innerEnv(parts), cwd: checkout.path, kept: false, dispose };
}

/** No sandbox: only the environment is kept short, and nothing outlives the command. */
export function leaveBare(
  command: readonly string[],
  { confinement, env, home, keeper }: Surroundings,
): Launch {
  const extra = { TMPDIR: confinement.tmp ?? tmpdir(), ...confinement.env };
  const parts = {
    outer: env,
    path: pathInside(env, () => true),
    home,
    proxyPort: null,
    locks: confinement.write,
    extra,
  };
  const variables = innerEnv(parts);
  return {
    argv: keeper?.argv(command) ?? command,
    env: keeper ? splitEnv(variables, true).started : variables,
    cwd: confinement.checkout.path,
    kept: keeper !== null,
    dispose: async () => {},
  };
}

/** What an empty place in memory may hold: enough for a build's temporary files, not for what a run may take. */
const emptyBytes = ({ memoryBytes }: Totals): number => Math.min(2 * 2 ** 30, Math.ceil(memoryBytes / 8));
