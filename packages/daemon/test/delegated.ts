import type { Client } from '@reveille/protocol';
import { until } from './house.ts';

interface Wish {
  /** If there is none, the agent has no files. */
  readonly repository?: string;
  readonly agentType: string;
  readonly prompt: string;
}

/** However busy the machine is. */
const WAIT_MS = 300_000;

/** A chat that hands a task to an agent, and what it hears of it. */
export async function delegated(client: Client, { agentType, prompt, ...where }: Wish) {
  const { session, credential } = await client.grantSession({ name: 'chat', ...where });
  const [spawned] = await client.as(credential).spawnSubtasks([{ agentType, prompt }]);
  const heard = async (kind: 'end' | 'error'): Promise<string> => {
    let text: string | undefined;
    await until(async () => {
      text = (await client.mailbox(session.id)).find((mail) => mail.kind === kind)?.text;
      return text !== undefined;
    }, WAIT_MS);
    return text!;
  };
  return { task: spawned!.task, heard };
}
