import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionId } from '@reveille/protocol';
import { z } from 'zod';
import { Kin, isAlive, lineage, starter } from './lineage.ts';

/**
 * Which chat a connection serves, for the hooks of the same chat: they are programs of their own and must find its
 * session. Two things tell: the id that the chat gives its conversation, and the process that started both. The first
 * decides where both sides know it, because one process can hold several chats, and a chat can start another.
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
  // A chat may run its hooks in its own process.
  const [self] = lineage();
  const isChat = self !== undefined && marks.some(({ chat }) => chat !== null && keyOf(chat) === keyOf(self));
  const origin = { conversation, starter: isChat ? self : starter() };
  return marksOf(marks, origin).filter(({ server }) => isAlive(server));
}

interface HookOrigin {
  /** The conversation that the chat told the hook. */
  readonly conversation: string | null;
  /** The process that started the hook. Only this one counts: what is above it may be another chat. */
  readonly starter: Kin | null;
}

/** The marks of the chat that a hook belongs to. */
export function marksOf<M extends Pick<Mark, 'chat' | 'conversation'>>(
  marks: readonly M[],
  { conversation, starter: own }: HookOrigin,
): M[] {
  const isOwn = ({ chat }: M): boolean => chat !== null && own !== null && keyOf(chat) === keyOf(own);
  const same = marks.filter((mark) => conversation !== null && mark.conversation === conversation);
  // A program that a chat starts may have inherited the id: then the process tells which of them is meant.
  if (same.length > 0) return same.some(isOwn) ? same.filter(isOwn) : same;
  return marks.filter((mark) => isOwn(mark) && (conversation === null || mark.conversation === null));
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
