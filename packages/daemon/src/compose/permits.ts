import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { filesNamedBy, type Judged, type Permit, type PermitOptions, type StartSpec } from '@reveille/core';
import type { AgentAction, AgentPermits } from '@reveille/executors/acp';
import {
  ReveilleError,
  type Action,
  type CallerWorld,
  type PolicyLayer,
  type RunId,
  type SessionId,
  type Task,
} from '@reveille/protocol';
import { realPathOf, type Boundary, type FileContent } from '@reveille/worktrees';

type Worker = { readonly session: SessionId; readonly run: RunId; readonly epoch: number };

/** The engine's one way to leave, as the rooms that need it are handed it. */
export interface EnginePermits {
  judge(
    caller: Worker & { readonly kind: 'worker' },
    action: Action,
    also?: readonly PolicyLayer[],
  ): Promise<Judged>;
  permit(
    caller: Worker & { readonly kind: 'worker' },
    action: Action,
    options: PermitOptions,
  ): Promise<Permit>;
}

type ReadFile = (path: string) => Promise<FileContent | null>;

/** For whoever has no worktree. */
export const NO_FILES: ReadFile = async () => null;

/** More of a file does not count for what is approved, but for its size. */
const LARGEST_FILE = 16 * 2 ** 20;

/** Reads files of a task's worktree through its door; null: there is none that can be read. */
export const readerOf =
  (boundary: Boundary, task: Task): ReadFile =>
  async (path) => {
    try {
      using door = await boundary.door(task, 'read');
      return await door.readFile(path, { limit: LARGEST_FILE });
    } catch (error) {
      if (error instanceof ReveilleError) return null;
      throw error;
    }
  };

/** What is known here and not to whoever wants to do it. */
interface Place {
  /** The worktree; null: there is none. */
  readonly where: string | null;
  /** Whether a sandbox holds commands. */
  readonly confined: boolean;
  readonly read: ReadFile;
}

/** For tools of the catalogue. File tools go through the door, which holds them whatever else does. */
export function toolPermits(
  permits: EnginePermits,
  { session, run, epoch }: Worker,
  placeOf: () => Promise<Place>,
): NonNullable<CallerWorld['permit']> {
  return async (wanted, { signal, patienceMs }) => {
    const { where, confined, read } = await placeOf();
    const action = boundTo({ ...wanted, held: confined || wanted.kind !== 'command' }, where);
    const caller = { kind: 'worker', session, run, epoch } as const;
    return permitWithFiles({ permits, caller, read, options: { signal, patienceMs } }, action);
  };
}

/** Whoever sets it so is asked about everything an agent asks for. */
const EVERYTHING: PolicyLayer = {
  from: 'acp.permissions',
  preset: 'careful',
  rules: [{ tool: '*', verdict: 'ask' }],
};

/** For what agents do with their own tools. */
export function agentPermits(
  permits: EnginePermits,
  { asksAll, boundary }: { readonly asksAll: boolean; readonly boundary: Boundary },
): AgentPermits {
  const also = asksAll ? [EVERYTHING] : [];
  const callerOf = ({ session, run, epoch }: StartSpec) => ({ kind: 'worker', session, run, epoch }) as const;
  const bound = (spec: StartSpec, action: AgentAction): Action =>
    boundTo(action, spec.workspace?.path ?? null);
  return {
    judge: async (spec, action) => (await permits.judge(callerOf(spec), bound(spec, action), also)).verdict,
    permit: (spec, action, signal) => {
      const read = spec.workspace ? readerOf(boundary, spec.task) : NO_FILES;
      const asking = { permits, caller: callerOf(spec), read, options: { signal, also } };
      return permitWithFiles(asking, bound(spec, action));
    },
  };
}

interface FilePermit {
  readonly permits: EnginePermits;
  readonly caller: Worker & { readonly kind: 'worker' };
  readonly read: ReadFile;
  readonly options: PermitOptions;
}

/** How often it is asked anew because a file was changed in the meantime. */
const MOST_CHANGES = 5;

/**
 * Leave for an action, bound to the content of the files that its command names: they are shown, and a yes counts only if they
 * are the same when it is used (INB3). For what nobody is asked about they are not read.
 */
async function permitWithFiles(
  { permits, caller, read, options }: FilePermit,
  action: Action,
): Promise<Permit> {
  const { verdict } = await permits.judge(caller, action, options.also);
  if (action.command === null || verdict !== 'ask') return permits.permit(caller, action, options);
  for (let changes = 0; changes < MOST_CHANGES; changes++) {
    const wanted = await withFiles(action, read);
    const permit = await permits.permit(caller, wanted, options);
    if (!permit.allowed || (await withFiles(action, read)).digest === wanted.digest) return permit;
  }
  return {
    allowed: false,
    why: 'Files that the command names were changed each time before the approval could be used. Leave them as they are and try again.',
  };
}

/** Of so many files the beginning is shown. All count for what is approved. */
const FILES_SHOWN = 20;
const FILE_SHOWN = 4_000;
/** Files that hold logins of registries count for what is approved, and are not shown: parents see a request too. */
const HOLDS_LOGINS = /(?:^|\/)\.(?:npmrc|yarnrc|yarnrc\.yml|pypirc|netrc)$/;

async function withFiles(action: Action, read: ReadFile): Promise<Action> {
  const { names, unknown } = filesNamedBy(action.command ?? '');
  const files: NonNullable<Action['files']> = [];
  const unknownFiles = [...unknown];
  for (const name of names) {
    const path = inside(name, action.where);
    const content = await read(path);
    if (!content && isElsewhere(path)) unknownFiles.push(path);
    if (content && !files.some((file) => file.path === content.path))
      files.push(shownFile(content, files.length < FILES_SHOWN && !HOLDS_LOGINS.test(name) ? FILE_SHOWN : 0));
  }
  const known = unknownFiles.length === 0 ? action : { ...action, unknownFiles };
  if (files.length === 0) return known;
  const contents = files.map(({ path, size, sha256 }) => [path, size, sha256]);
  return { ...known, files, digest: sha256Of(JSON.stringify([action.digest, contents])) };
}

/** Where files may be that the door does not open and the agent can write: its own home, temporary files, a git directory. */
const isElsewhere = (path: string): boolean =>
  /^(?:~|\/(?:tmp|var\/tmp|home|root|Users|proc|run|dev\/shm|dev\/fd)(?:\/|$))|(?:^|\/)(?:\.\.|\.git)(?:\/|$)/i.test(
    path,
  );

function shownFile({ path, size, bytes }: FileContent, most: number): NonNullable<Action['files']>[number] {
  const start = bytes.subarray(0, FILE_SHOWN * 4);
  const text = start.includes(0) ? null : start.toString('utf8').slice(0, most);
  const cut = text !== null && Buffer.byteLength(text) < size;
  return { path, size, sha256: sha256Of(bytes), text, cut };
}

export const sha256Of = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

const LONGEST = { detail: 60_000, tool: 200, paths: 100, path: 4_096 } as const;

/** With the place, and what tells it from any other: a leave is for this and nothing else. */
function boundTo(wanted: AgentAction, where: string | null): Action {
  const { tool, kind, command, paths, held, detail, input } = wanted;
  return {
    tool: tool.slice(0, LONGEST.tool),
    kind,
    command,
    paths: [...new Set(paths.slice(0, LONGEST.paths).flatMap((path) => placesOf(path, where)))].map((path) =>
      path.slice(0, LONGEST.path),
    ),
    held,
    where,
    detail: detail.slice(0, LONGEST.detail),
    digest: sha256Of(JSON.stringify([tool, kind, command, paths, where, input])),
  };
}

/** A path as it is named, and where it leads: neither `..` nor a link in the worktree is a way round a rule about files. */
function placesOf(path: string, where: string | null): string[] {
  if (where === null || path.includes('\0')) return [path];
  const seen = path.replace(OWN_FOLDER, where);
  const named = inside(resolve(where, seen), where);
  const real = inside(realFileOf(isAbsolute(seen) ? seen : `${where}/${seen}`), realPathOf(where));
  return isAbsolute(named) && real === named ? [path] : [named, real];
}

/** As the system follows it: `..` after a link leads out of the folder that the link leads to. */
function realFileOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    // What is not there yet will be in the folder before it.
    const end = path.lastIndexOf('/');
    return end <= 0 || path.length > LONGEST.path
      ? resolve(path)
      : join(realFileOf(path.slice(0, end)), path.slice(end + 1));
  }
}

/** The worktree as a process that works there sees it. */
const OWN_FOLDER = /^\/proc\/(?:self|thread-self|\d+)\/cwd(?=\/|$)/;

/** From the root of the worktree, where rules begin too. */
function inside(path: string, where: string | null): string {
  if (where === null || !isAbsolute(path)) return path;
  const below = relative(where, path);
  return below.startsWith('..') || below === '' ? path : below;
}
