/** One thing that is at a place inside. Everything that is not there by one of these does not exist. */
export type Mount =
  | { readonly kind: 'read' | 'write'; readonly at: string; readonly from: string }
  | { readonly kind: 'link'; readonly at: string; readonly to: string }
  /** Empty, in memory, and forgotten at the end; `sealed` once what belongs into it is mounted. */
  | { readonly kind: 'empty'; readonly at: string; readonly sealed: boolean };

/** What this machine and its bubblewrap have. */
export interface Host {
  readonly bwrap: string;
  /** Options that older versions lack. */
  readonly canSize: boolean;
  readonly canDisableUserns: boolean;
  /** What of `/proc` is read-only. */
  readonly proc: readonly Mount[];
  readonly root: boolean;
}

/** A confinement with every path looked at. */
export interface Plan {
  /** The system's own folders, their secrets covered. */
  readonly system: readonly Mount[];
  readonly mounts: readonly Mount[];
  readonly home: string;
  readonly tmp: string | null;
  readonly cwd: string;
  readonly sharesNetwork: boolean;
  readonly nested: boolean;
  /** What each empty place in memory may hold. */
  readonly emptyBytes: number;
  /** Whether bubblewrap is to say on descriptor 3 which process is the first in the sandbox, and whether the command was started. */
  readonly status: boolean;
  /** Variables that would change bubblewrap itself if it had them. The others it is started with, and hands on. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The whole command line. Nothing is left of our namespaces but, if it is shared, the
 * network. Every process gets a session of its own, so it has no terminal to push keys into.
 *
 * Secrets are not in it: anybody on the machine can read a command line.
 */
export function bwrapArgv(host: Host, plan: Plan, inner: readonly string[]): string[] {
  const mounts: Mount[] = [
    ...plan.system,
    { kind: 'empty', at: plan.home, sealed: false },
    plan.tmp === null
      ? { kind: 'empty', at: '/tmp', sealed: false }
      : { kind: 'write', at: '/tmp', from: plan.tmp },
    { kind: 'empty', at: '/var/tmp', sealed: false },
    ...plan.mounts,
  ];
  const sizing = host.canSize ? ['--size', String(plan.emptyBytes)] : [];
  return [
    host.bwrap,
    ...(plan.status ? ['--json-status-fd', '3'] : []),
    ...namespaces(host, plan),
    ...mountArgs(sizing, mounts),
    '--proc',
    '/proc',
    // A sandbox within this one could have no `/proc` if anything were mounted in ours. Root's needs it nevertheless.
    ...mountArgs(sizing, plan.nested && !host.root ? [] : host.proc),
    '--dev',
    '/dev',
    ...mountArgs(sizing, [{ kind: 'empty', at: '/dev/shm', sealed: false }]),
    // A place in memory that anybody can write to is memory that nobody counts.
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    ...Object.entries(plan.env).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    plan.cwd,
    '--',
    ...inner,
  ];
}

function namespaces(host: Host, plan: Plan): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(plan.sharesNetwork ? [] : ['--unshare-net']),
    ...(host.canDisableUserns && !plan.nested ? ['--disable-userns'] : []),
    '--cap-drop',
    'ALL',
    '--new-session',
    '--die-with-parent',
  ];
}

/** Parents before what is mounted into them; of two at one place the later one counts. Seals come last. */
function mountArgs(sizing: readonly string[], mounts: readonly Mount[]): string[] {
  const last = new Map(mounts.map((mount) => [mount.at, mount]));
  const ordered = [...last.values()].toSorted((a, b) => depth(a.at) - depth(b.at));
  const seals = ordered.filter((mount) => mount.kind === 'empty' && mount.sealed);
  return [
    ...ordered.flatMap((mount) => mountArg(sizing, mount)),
    ...seals.flatMap(({ at }) => ['--remount-ro', at]),
  ];
}

const depth = (path: string): number => path.split('/').length;

function mountArg(sizing: readonly string[], mount: Mount): string[] {
  switch (mount.kind) {
    case 'read':
      return ['--ro-bind', mount.from, mount.at];
    case 'write':
      return ['--bind', mount.from, mount.at];
    case 'link':
      return ['--symlink', mount.to, mount.at];
    case 'empty':
      return [...sizing, '--perms', '0700', '--tmpfs', mount.at];
    default:
      return mount satisfies never;
  }
}
