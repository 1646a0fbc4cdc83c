import type { Catalogue } from '@reveille/agents';
import type { CallerWorld, Client, SessionId, ToolAgents, ToolOutputs, ToolSkills } from '@reveille/protocol';

export interface WorldParts {
  readonly session: SessionId;
  /** As the session. */
  readonly client: Client;
  readonly agents: Catalogue;
  readonly outputs: ToolOutputs;
  readonly repository: string | null;
}

/** What a chat has of the world when its tools run here and the engine in the daemon: the same interface, over HTTP. */
export function chatWorld({ session, client, agents, outputs, repository }: WorldParts): CallerWorld {
  return {
    caller: { kind: 'session', session },
    orchestrator: client,
    grants: null,
    workspace: null,
    agents: toolAgents(agents, client),
    skills: toolSkills(agents),
    repository,
    outputs,
    undelivered: () => takeBack(client, session),
  };
}

function toolAgents(agents: Catalogue, client: Client): ToolAgents {
  return {
    list: () =>
      agents
        .list()
        .filter(({ state }) => state === 'used')
        .map(({ definition: { name, description, expertise, whenToUse, place, readOnly, suggested } }) => ({
          name,
          description,
          expertise,
          whenToUse,
          place,
          readOnly,
          suggested,
        })),
    suggest: (task) => agents.suggest(task),
    backends: async () => (await client.backends()).map(({ name }) => name),
  };
}

function toolSkills(agents: Catalogue): ToolSkills {
  return { list: () => agents.skills(), load: (name, file) => agents.loadSkill(name, file) };
}

/**
 * What the session was answered with may not have reached its chat: it is queued again, marked as perhaps seen. A
 * connection for mail that is closed at once says to the daemon that the session was cut off.
 */
export async function takeBack(client: Client, session: SessionId): Promise<void> {
  const inHand = (await client.mailbox(session)).some(({ state }) => state === 'delivered');
  if (!inHand) return;
  const leave = await client.attach(session, () => Promise.reject(new Error('nobody is here to read')));
  await leave();
}
