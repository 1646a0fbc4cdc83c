import type { Message, ToolWorld } from '@reveille/protocol';
import { quote } from './fence.ts';

const WORDS: Partial<Record<Message['kind'], string>> = {
  end: 'ended',
  question: 'asks you something',
  approval_request: 'wants your approval',
  review: 'asks for review',
  answer: 'answered',
  words: 'wrote to you',
  error: 'reports an error',
  idle_response: 'says why it is silent',
};
const MOST_NAMED = 5;
/** Characters of a name. */
const NAME = 60;

/**
 * A chat cannot be interrupted, so every tool result tells it of mail that waits (WAK6). Only who, and what came of it:
 * the words themselves are handed over, once, by the tools that take them. A worker is given its mail by its run.
 */
export async function noticeFor(world: ToolWorld): Promise<string | null> {
  if (world.caller.kind !== 'session') return null;
  try {
    const mail = await (world.unread?.() ?? queued(world, world.caller.session));
    // Mail that wakes nobody is no reason to call a tool: it comes along.
    const unread = mail.filter(({ quiet }) => !quiet);
    return unread.length > 0 ? await words(unread, world) : null;
  } catch (error) {
    // The call itself is done; that its notice could not be made must not undo it.
    world.log?.('warn', 'the notice of unread mail could not be made', { error: String(error) });
    return null;
  }
}

async function queued(
  { orchestrator }: ToolWorld,
  session: `session_${string}`,
): Promise<readonly Message[]> {
  return (await orchestrator.mailbox(session)).filter((message) => message.state === 'queued');
}

async function words(unread: readonly Message[], world: ToolWorld): Promise<string> {
  const urgent = unread.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || a.number - b.number);
  const named = await Promise.all(urgent.slice(0, MOST_NAMED).map((message) => line(message, world)));
  const rest = unread.length > MOST_NAMED ? `, and ${unread.length - MOST_NAMED} more` : '';
  const count = unread.length === 1 ? '1 message waits' : `${unread.length} messages wait`;
  return `[Reveille: ${count} for you: ${named.join('; ')}${rest}. Call a2a_check_updates to read.]`;
}

/** Whom a message is about, by the name it was given, and how it ended or what it wants. */
async function line({ task: id, kind }: Message, { orchestrator }: ToolWorld): Promise<string> {
  const what = WORDS[kind] ?? `(${kind})`;
  if (id === null) return `Reveille ${what}`;
  const { task, end } = await orchestrator.getTask(id);
  const how = kind === 'end' ? `${what}: ${end?.status ?? task.state}` : what;
  return `${quote(task.name, NAME)} (${id}) ${how}`;
}
