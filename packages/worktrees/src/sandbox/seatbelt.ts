import type { Mount } from './argv.ts';

/** UNTESTED: written from the documentation of Seatbelt's profiles; no test has run it on a Mac. */

export interface SeatbeltPlan {
  readonly mounts: readonly Mount[];
  readonly home: string;
  /** Reveille's own folders. What a process is lent of them is among the mounts. */
  readonly own: readonly string[];
  /** A folder of this sandbox's own: there are no mounts, so nothing can be put at `/tmp`. */
  readonly tmp: string;
  readonly network: 'on' | 'off';
  /** Loopback ports that can be reached with the network off: there is no network of its own to put doors into. */
  readonly ports: readonly number[];
}

const SYSTEM_READS = [
  '/usr',
  '/bin',
  '/sbin',
  '/System',
  '/Library',
  '/opt',
  '/private/etc',
  '/dev',
  '/private/var/db/timezone',
];

/** What is hidden even in a folder that may be read. */
const SECRETS = ['/private/etc/master.passwd', '/private/etc/sudoers', '/private/etc/ssh'];

/**
 * The profile: nothing is allowed but what follows. Of two rules the later one counts, so the tree and the objects come
 * after what hides the repository round them.
 */
export function seatbeltProfile(plan: SeatbeltPlan): string {
  const hidden = plan.mounts.filter(({ kind }) => kind === 'empty').map(({ at }) => at);
  const reads = plan.mounts.filter(({ kind }) => kind === 'read').map(({ at }) => at);
  const writes = plan.mounts.filter(({ kind }) => kind === 'write').map(({ at }) => at);
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-fork process-exec)',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.trustd.agent"))',
    '(allow file-read-metadata)',
    '(allow file-read* (literal "/"))',
    ...SYSTEM_READS.map((path) => `(allow file-read* ${subpath(path)})`),
    '(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
    ...[...SECRETS, plan.home, ...plan.own, ...hidden].map(
      (path) => `(deny file-read* file-write* ${subpath(path)})`,
    ),
    ...reads.map((path) => `(allow file-read* ${subpath(path)})`),
    ...[...writes, plan.tmp].map((path) => `(allow file-read* file-write* ${subpath(path)})`),
    ...(plan.network === 'on' ? ['(allow network*)', '(allow system-socket)'] : portRules(plan.ports)),
  ].join('\n');
}

export function seatbeltArgv(plan: SeatbeltPlan, command: readonly string[]): string[] {
  return ['/usr/bin/sandbox-exec', '-p', seatbeltProfile(plan), '--', ...command];
}

const portRules = (ports: readonly number[]): string[] =>
  ports.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`);

const subpath = (path: string): string => `(subpath "${path.replaceAll(/["\\]/g, String.raw`\$&`)}")`;
