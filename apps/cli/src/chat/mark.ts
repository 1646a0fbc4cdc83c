import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionId } from '@reveille/protocol';
import { z } from 'zod';
import { Kin, isAlive, lineage, starter } from './lineage.ts';

/**
 * Which chat a connection serves, for the hooks of the same chat: they are programs of their own and must find its
 * session. Two things tell: the process that started both, and the id that the chat gives itself. The first is right even
 * when a chat begins anew in the same window; the second where something stands between that this does not know.
 */
const Mark = z.object({
  session: SessionId,
  server: Kin,
  chat: Kin.nullable(),
  conversation: z.string().nullable(),
});
type Mark = z.infer<typeof Mark>;

const ENDING = '.chat.json';
/** Where Claude Code says which conversation a program is started for. */
const CONVERSATION = 'CLAUDE_CODE_SESSION_ID';

/** As long as it is held, the hooks of the chat that started this program find the session. */
export function markChat(home: string, session: SessionId, env: NodeJS.ProcessEnv): Disposable {
  const [server] = lineage();
  if (!server) return { [Symbol.dispose]: () => undefined };
  const mark: Mark = { session, server, chat: starter(), conversation: env[CONVERSATION] ?? null };
  const folder = folderIn(home);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${session}${ENDING}`);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  renameSync(draft, file);
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
}

/** A session of the chat that started this program, and the process that serves it. */
export type Served = Pick<Mark, 'session' | 'server'>;

/** More than one if the chat has more than one connection. */
export function sessionsHere(home: string, conversation: string | null): Served[] {
  const marks = marksIn(folderIn(home));
  if (marks.length === 0) return [];
  const kin = new Set(lineage().map(keyOf));
  const here = marks.filter(
    (mark) =>
      (mark.chat !== null && kin.has(keyOf(mark.chat))) ||
      (mark.conversation !== null && mark.conversation === conversation),
  );
  return here.filter(({ server }) => isAlive(server));
}

const folderIn = (home: string): string => join(home, 'clients');
const keyOf = ({ pid, identity }: Kin): string => `${pid} ${identity}`;

function marksIn(folder: string): Mark[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return []; // no client was ever here
  }
  return names.filter((name) => name.endsWith(ENDING)).flatMap((name) => readMark(join(folder, name)));
}

function readMark(file: string): Mark[] {
  try {
    const { success, data } = Mark.safeParse(JSON.parse(readFileSync(file, 'utf8')));
    return success ? [data] : [];
  } catch {
    return []; // its chat has just ended
  }
}
