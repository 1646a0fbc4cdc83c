import type { Agent, Clock, Executor, ExecutorEvent, Executors, StartSpec } from '@reveille/core';
import type { TranscriptEntry } from '@reveille/protocol';
import { withoutCredentials } from '../log/redact.ts';
import { EventQuota } from './event-quota.ts';
import type { Transcripts } from './transcripts.ts';

type Said = Pick<TranscriptEntry, 'kind' | 'text' | 'id' | 'failed'>;

/** The same executors; what their agents are given, say and do is also written down for people to read. */
export function recording(executors: Executors, transcripts: Transcripts, clock: Clock): Executors {
  const made = new Map<Executor, Executor>();
  const recorded = (executor: Executor): Executor => {
    const known = made.get(executor) ?? through(executor, { start: startOf(executor, transcripts, clock) });
    made.set(executor, known);
    return known;
  };
  return through(executors, {
    get: (name: string) => {
      const executor = executors.get(name);
      return executor && recorded(executor);
    },
  });
}

const startOf =
  (executor: Executor, transcripts: Transcripts, clock: Clock) =>
  (spec: StartSpec): Agent => {
    const { run } = spec;
    transcripts.open(spec.task.id, run);
    const add = (said: Said): void => transcripts.add(run, { at: clock.now(), ...said });
    const quota = new EventQuota();
    const agent = executor.start({
      ...spec,
      report: (told) => {
        // It lives, which is all that the surplus says (BND7.32).
        if (!quota.takes(told)) return spec.report({ type: 'sign' });
        const leftOut = quota.leftOut();
        if (leftOut > 0)
          add({ kind: 'note', text: `${leftOut} updates were left out: too many came at once.` });
        // Before anybody cuts it: half a credential is not known for one.
        const event = withoutCredentials(told);
        const said = saidIn(event);
        if (said) add(said);
        if (event.type === 'exited') transcripts.close(run);
        spec.report(event);
      },
    });
    return through(agent, {
      turn: (input) => {
        add({ kind: 'given', text: input.text });
        agent.turn(input);
      },
      steer: (input) => {
        add({ kind: 'given', text: input.text });
        return agent.steer(input);
      },
    });
  };

/** What a reader wants to see of an event; null: nothing. */
function saidIn(event: ExecutorEvent): Said | null {
  switch (event.type) {
    case 'output':
      return { kind: 'said', text: event.text };
    case 'thought':
      return { kind: 'thought', text: event.text };
    case 'tool_call':
      return { kind: 'tool', text: event.digest === '' ? event.name : event.digest, id: event.id };
    case 'tool_end':
      return { kind: 'tool_end', text: '', id: event.id, failed: event.failed };
    case 'file_touched':
      return { kind: 'file', text: event.path };
    case 'permission_asked':
      return { kind: 'asked', text: event.what, id: event.id };
    case 'permission_settled':
      return { kind: 'note', text: event.granted ? 'It was allowed.' : 'It was refused.', id: event.id };
    case 'failed':
      return { kind: 'note', text: `${event.class}: ${event.message}`, failed: true };
    case 'exited':
      return {
        kind: 'note',
        text: event.detail === '' ? 'The agent ended.' : `The agent ended: ${event.detail}`,
      };
    default:
      return null;
  }
}

/** An object as it is but for some of its methods. Not a copy: it may be of a class, with fields of its own. */
function through<T extends object>(target: T, instead: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(instead, key)) return instead[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
