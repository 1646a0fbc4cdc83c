import { RepositoryPath, ReveilleError, parseInput, type Orchestrator } from '@reveille/protocol';
import { decide } from '../decide.ts';
import type { Host } from '../host.ts';
import { AttachedReceiver } from '../receiver.ts';
import { endSession, openSession } from '../sessions.ts';

export const SESSION_OPERATIONS = ['openSession', 'endSession', 'attach'] as const;

export function sessionOperations(host: Host): Pick<Orchestrator, (typeof SESSION_OPERATIONS)[number]> {
  const { context } = host;

  return {
    async openSession(kind, name, options = {}) {
      const repository =
        options.repository === undefined ? null : parseInput(RepositoryPath, options.repository);
      return decide(context, async (tx) =>
        openSession(tx, context, { kind, name: name.slice(0, 200), repository }),
      );
    },
    async endSession(session) {
      await decide(context, async (tx) => {
        const row = await tx.need('session', session);
        if (row.task !== null)
          throw new ReveilleError('not_allowed', `${session} is a worker; it ends with its task.`);
        await endSession(tx, context, row);
      });
    },
    async attach(session, receive) {
      await decide(context, async (tx) => {
        const row = await tx.need('session', session);
        if (row.task !== null)
          throw new ReveilleError('not_allowed', `${session} is a worker; its run receives its mail.`);
        if (row.state === 'ended') throw new ReveilleError('wrong_state', `Session ${session} has ended.`);
      });
      const receiver = new AttachedReceiver(context, session, receive);
      host.mailroom.sit(session, 'holder', receiver);
      host.mailroom.wake(session);
      return async () => {
        receiver.disconnect();
        host.mailroom.leave(session, receiver);
        await host.disconnected(session);
      };
    },
  };
}
