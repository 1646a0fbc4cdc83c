import { existsSync } from 'node:fs';
import type { Script } from '@reveille/executors';

/** Reports when a file is there whose path its prompt begins with: also from another process. */
const waits: Script = async (agent) => {
  const [path = ''] = agent.task.prompt.split('\n');
  while (!existsSync(path)) await agent.work(10);
  await agent.report('success', `seen ${agent.task.prompt.split('\n')[1] ?? 'it'}`);
};

export const SCRIPTS = { waits, quick: (agent) => agent.report('success', 'quick work') } satisfies Record<
  string,
  Script
>;
