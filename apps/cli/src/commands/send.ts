import { isId, type Client, type SessionId, type TaskId } from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findTask, viewpointOf } from '../find.ts';
import { print, reach } from '../reach.ts';
import { promptOf } from './spawn.ts';

export const send = command({
  name: 'send',
  group: 'Work',
  summary: 'says something to the worker of a task',
  usage: '<task> <message…>',
  about: `It is in its mailbox when the command returns, and is read at the worker's next pause. A message of - is read from
the input. The id of a session works too.`,
  options: {
    key: { type: 'string', value: 'TEXT', means: 'the same key again sends nothing again' },
  },
  json: '{ message }: the message, with its state (queued, delivered, read, dead).',
  async run(call) {
    const [to = '', ...words] = call.args;
    const text = await promptOf(call.io, words);
    const client = await reach(call);
    const { key } = call.options;
    const receiver = await receiverOf(call, client, to);
    const id = await client.sendMessage({
      to: receiver.id,
      message: text,
      ...(key === undefined ? {} : { key }),
    });
    const message = await client.getMessage(id);
    print(call, { message }, () => [
      `${message.state === 'queued' ? 'Queued' : 'Handed over'} for ${receiver.name} (${message.id}).`,
    ]);
  },
});

async function receiverOf(
  call: Call,
  client: Client,
  to: string,
): Promise<{ id: SessionId | TaskId; name: string }> {
  if (isId('session', to)) return { id: to, name: to };
  const { task } = await findTask(client, to, await viewpointOf(call));
  return { id: task.id, name: task.name };
}
