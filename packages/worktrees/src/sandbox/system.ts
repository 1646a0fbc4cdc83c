import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  type Dirent,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { isWithin } from '../repository/paths.ts';
import type { Mount } from './argv.ts';

/** Where programs and what they read are. Not `/var`, `/run`, `/srv`, `/mnt`, `/sys`: data, sockets and secrets are there. */
const FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix/store',
  '/gnu/store',
];

/** Files of `/etc` that are often links to where we do not let anybody look: for each, only its target comes along. */
const LINKED = [
  'resolv.conf',
  'hosts',
  'localtime',
  'ssl/certs',
  'ssl/cert.pem',
  'ssl/certs/ca-certificates.crt',
  'pki',
];

/** How far `/opt` is searched for what is not for everybody; the whole of `/etc` is. */
const OPT_DEPTH = 3;

/** For how long what was found is believed: looking through `/etc` takes some ten milliseconds. */
const BELIEVED_MS = 20_000;

let known: { readonly at: number; readonly mounts: readonly Mount[] } | undefined;

/**
 * The system's folders as everybody on the machine may read them. What only some may read is covered, because a
 * sandbox of root is still root's to the files: `/etc/shadow`, host keys, private certificates and whatever else is
 * kept from others by its mode.
 */
export function systemMounts(): Mount[] {
  if (known === undefined || performance.now() - known.at > BELIEVED_MS)
    known = { at: performance.now(), mounts: findMounts() };
  // Some files of /etc come and go with every change of a password, and nothing can be mounted on one that is gone.
  return known.mounts.filter((mount) => mount.kind === 'link' || existsSync(mount.at));
}

function findMounts(): Mount[] {
  const mounts = [...FOLDERS.flatMap(folderMount), { kind: 'read', at: '/etc', from: '/etc' } as const];
  const covers = [...secretsIn('/etc', Infinity), ...secretsIn('/opt', OPT_DEPTH)].map(cover);
  const extra = [...LINKED.flatMap(targetOf), ...nodeFolders(process.execPath)];
  const unseen = [...new Set(extra)].filter((path) => !isSeen(mounts, path));
  return [...mounts, ...covers, ...unseen.map((path) => ({ kind: 'read', at: path, from: path }) as const)];
}

/** Whether a path is in one of the folders that are read from this machine. */
export function isSeen(mounts: readonly Mount[], path: string): boolean {
  return mounts.some(({ kind, at }) => (kind === 'read' || kind === 'link') && isWithin(path, at));
}

function folderMount(path: string): Mount[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return [{ kind: 'link', at: path, to: readlinkSync(path) }];
  return stat?.isDirectory() ? [{ kind: 'read', at: path, from: path }] : [];
}

interface Secret {
  readonly path: string;
  readonly folder: boolean;
}

/** What we may read and not everybody may, not following links. A folder that is closed stands for all in it. */
function secretsIn(folder: string, levels: number): Secret[] {
  if (levels === 0) return [];
  return entriesOf(folder).flatMap((entry): Secret[] => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink() || !may(constants.R_OK, path)) return [];
    const { mode, size } = lstatSync(path);
    if (!entry.isDirectory()) return mode & 0o004 || size === 0 ? [] : [{ path, folder: false }];
    return (mode & 0o005) === 0o005 ? secretsIn(path, levels - 1) : [{ path, folder: true }];
  });
}

/** False also where we cannot even look. */
function may(what: number, path: string): boolean {
  try {
    accessSync(path, what);
    return true;
  } catch {
    return false;
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Not there, or closed to us, and so to what we start.
    return [];
  }
}

const cover = ({ path, folder }: Secret): Mount =>
  folder ? { kind: 'empty', at: path, sealed: true } : { kind: 'read', at: path, from: '/dev/null' };

function targetOf(name: string): string[] {
  const path = join('/etc', name);
  try {
    const target = realpathSync(path);
    return target === path ? [] : [target];
  } catch {
    return [];
  }
}

/** Our own Node and what was installed with it, wherever that is: agents and their tools need one. */
function nodeFolders(node: string): string[] {
  const folder = dirname(node);
  if (basename(folder) !== 'bin') return [node];
  return [folder, join(dirname(folder), 'lib', 'node_modules')].filter((path) => existsSync(path));
}

/** Where root may be able to write by its user id alone, with no capability. */
const ROOT_WRITES = ['sysrq-trigger', 'fs', 'scsi', 'acpi'];

function isWritable(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat !== undefined && (stat.mode & 0o200) !== 0;
  return entriesOf(path).some(({ name }) => isWritable(join(path, name)));
}

/** Of `/proc` what is made read-only: the settings of the kernel, of which some are anybody's in namespaces of their own. */
export function procMounts(root: boolean): Mount[] {
  const others = root ? ROOT_WRITES.map((name) => join('/proc', name)).filter(isWritable) : [];
  return ['/proc/sys', ...others].map((path) => ({ kind: 'read', at: path, from: path }));
}

/** A program of the system itself, so not one that somebody put in front of it on the path. */
export function systemProgram(name: string): string | null {
  return ['/usr/bin', '/bin'].map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** The first program of that name on a path. Relative folders do not count: what is in them depends on where we are. */
export function programOnPath(name: string, path: string): string | null {
  const folders = path.split(':').filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  return may(constants.X_OK, path) && statSync(path).isFile();
}
