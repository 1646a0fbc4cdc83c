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
  const loaded = new Set(session.openFiles.map((path) => projectOf(path, folders)));
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

/** Asks until two answers are the same: some servers answer with what they have loaded so far. `first` was asked before. */
export async function untilStable<T>(
  session: ServerSession,
  ask: () => Promise<readonly T[]>,
  first?: readonly T[],
): Promise<readonly T[]> {
  let { told } = session;
  let found = first ?? (await ask());
  for (let i = 0; i < MOST_ASKS && !session.settled; i++) {
    ({ told } = session);
    const again = await ask();
    const stable = again.length === found.length && !session.busy;
    found = again;
    if (stable) break;
    if (session.busy) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  session.settle(told);
  return found;
}
