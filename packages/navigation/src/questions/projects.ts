import { dirname } from 'node:path/posix';
import { isMade, type Language } from '../languages.ts';
import type { ServerSession } from '../lsp/session.ts';
import type { TextHit } from '../text/known-tree.ts';
import { hitsOf, type Inquiry } from './inquiry.ts';

const MOST_PROJECTS = 100;
const MOST_LOOSE = 200;

/**
 * Servers load a project when a file of it is open, and say nothing of those they have not loaded: in a monorepo without
 * a common root they answer 2 of 14 without an error. So one file with a hit is opened in each project. Returns what could
 * not be opened, in words.
 */
export async function openProjects(
  inquiry: Inquiry,
  session: ServerSession,
  { hits, file }: { readonly hits: readonly TextHit[]; readonly file: string | null },
): Promise<string[]> {
  const { language } = session;
  const asked = file === null ? [] : [file];
  const paths = [...new Set([...asked, ...hitsOf(hits, language).map(({ path }) => path)])];
  const markers = await projectFilesIn(inquiry, language);
  const folders = new Map(markers.map((marker) => [dirname(marker), marker]));
  const projects = Map.groupBy(
    paths.filter((path) => !isMade(path, language)),
    (path) => projectOf(path, folders),
  );
  const loaded = new Set<string | null>();
  for (const path of session.openFiles) {
    const project = projectOf(path, folders);
    loaded.add(project);
    if (projects.has(project)) session.needed(path);
  }
  const loose = (language.opensAll && projects.get(null)) || [];
  const perProject = [...projects]
    .filter(([project]) => project !== null)
    .flatMap(([project, files]) => (loaded.has(project) ? [] : files.slice(0, 1)));
  const wanted = [
    // A server that reads the disk itself need not have the file open, if it has its project.
    ...(language.opensAsked ? asked : []),
    ...perProject.slice(0, MOST_PROJECTS),
    ...loose.slice(0, MOST_LOOSE),
  ];
  for (const path of wanted) await openFile(inquiry, session, path);
  return [
    ...(perProject.length > MOST_PROJECTS
      ? [`only ${MOST_PROJECTS} of ${perProject.length} projects were loaded`]
      : []),
    ...(loose.length > MOST_LOOSE
      ? [`only ${MOST_LOOSE} of ${loose.length} files outside of projects were loaded`]
      : []),
  ];
}

/** Where the projects of a language begin. */
export const projectFilesIn = async (
  inquiry: Inquiry,
  { projectFiles }: Language,
): Promise<readonly string[]> => (projectFiles.length > 0 ? await inquiry.named(projectFiles) : []);

export async function openFile(inquiry: Inquiry, session: ServerSession, path: string): Promise<void> {
  if (session.isOpen(path)) return;
  const text = await inquiry.text(path);
  if (text !== null) session.open(path, text);
}

/** The nearest project file above. */
function projectOf(path: string, folders: ReadonlyMap<string, string>): string | null {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const marker = folders.get(folder);
    if (marker !== undefined) return marker;
    if (folder === '.' || folder === '/') return null;
  }
}

const MOST_ASKS = 8;
const PAUSE_MS = 50;

export interface Repeated<T> {
  readonly ask: () => Promise<readonly T[]>;
  /** What was asked before. */
  readonly first?: readonly T[] | undefined;
  /** One that says that it is loading is waited for, so long. */
  readonly loadMs: number;
}

/** What a server answered, and whether it would answer the same again. */
export interface Stable<T> {
  readonly found: readonly T[];
  readonly stable: boolean;
}

/**
 * Asks until two answers are the same, and the server does not say that it is loading: some answer with what they have loaded so
 * far. One that has settled is asked once.
 */
export async function untilStable<T>(
  session: ServerSession,
  { ask, first, loadMs }: Repeated<T>,
): Promise<Stable<T>> {
  const end = performance.now() + loadMs;
  let found = first ?? (await ask());
  for (let i = 0; i < MOST_ASKS && performance.now() < end; i += session.busy ? 0 : 1) {
    if (session.settled) return { found, stable: true };
    const wasBusy = session.busy;
    const again = await ask();
    const same = countOf(again) === countOf(found);
    found = again;
    if (same && !wasBusy && !session.busy) return { found, stable: true };
    if (session.busy) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return { found, stable: false };
}

/** What led nowhere may lead somewhere later. */
const countOf = (all: readonly unknown[]): number => all.filter((each) => each !== null).length;

/** Likewise for uses: if they are stable, the server has settled, for they are what it knows last. */
export async function untilSettled<T>(session: ServerSession, asked: Repeated<T>): Promise<Stable<T>> {
  let { told } = session;
  const ask = async (): Promise<readonly T[]> => {
    ({ told } = session);
    return await asked.ask();
  };
  const answer = await untilStable(session, { ...asked, ask });
  if (answer.stable) session.settle(told);
  return answer;
}
