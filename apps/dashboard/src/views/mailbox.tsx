import type { Message, TaskRow } from '@reveille/protocol';
import { api } from '../link/api.ts';
import { oneLine } from '../parts/clean.ts';
import { Empty } from '../parts/pieces.tsx';
import { Prose } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { store } from '../store/store.ts';
import { useAsked } from './asked.ts';

const MOST = 300;

/** Everything that was sent to the worker, and where each message is. */
export function Mailbox({ row }: { row: TaskRow }) {
  const moved = store.mail.get(row.session)?.at ?? 0;
  const asked = useAsked(
    () => api().mailbox(row.session),
    [row.session, moved, store.mail.get(row.session)?.last],
  );
  if (asked.state !== 'known') return <p class="loading">{asked.state === 'failed' ? asked.why : '…'}</p>;
  const messages = asked.value.toReversed().slice(0, MOST);
  if (messages.length === 0)
    return <Empty title="No mail yet.">What others and you say to it comes here, with where it is.</Empty>;
  return (
    <ol class="letters" aria-label="Mailbox">
      {messages.map((message) => (
        <Letter key={message.id} message={message} />
      ))}
    </ol>
  );
}

const Letter = ({ message }: { message: Message }) => (
  <li class="letter" tabIndex={0} data-item>
    <header class="letter-head">
      <strong>{oneLine(senderOf(message), 80)}</strong>
      <span class="quiet">{message.kind.replaceAll('_', ' ')}</span>
      {message.urgent ? <span class="tone-ask">urgent</span> : null}
      <Delivery message={message} />
      <Ago at={message.at} suffix=" ago" />
    </header>
    {message.text === '' ? null : <Prose text={message.text} />}
  </li>
);

const STEPS = ['queued', 'delivered', 'read'] as const;

/** Queued, delivered, read: by place, not by colour alone. */
function Delivery({ message: { state, dead, maybeSeen, taken } }: { message: Message }) {
  if (state === 'dead') return <span class="bad">never delivered: {oneLine(dead ?? '')}</span>;
  const at = STEPS.indexOf(state);
  const by = taken ? `taken by a ${taken.by}` : undefined;
  return (
    <span class="steps" title={by}>
      {STEPS.map((step, i) => (
        <span
          key={step}
          class={i <= at ? 'step step-done' : 'step'}
          aria-current={i === at ? 'step' : undefined}
        >
          {step}
        </span>
      ))}
      {maybeSeen > 0 ? <span class="quiet">handed over {maybeSeen + 1} times</span> : null}
    </span>
  );
}

function senderOf({ from }: Message): string {
  switch (from.kind) {
    case 'person':
      return from.name;
    case 'session':
      return from.name;
    case 'task':
      return store.rows.get(from.task)?.name ?? from.agent;
    case 'harness':
      return 'Reveille';
    default:
      return from satisfies never;
  }
}
