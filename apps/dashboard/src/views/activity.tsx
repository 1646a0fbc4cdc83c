import { signal } from '@preact/signals';
import { isId, type ReveilleEvent } from '@reveille/protocol';
import { oneLine } from '../parts/clean.ts';
import { Empty } from '../parts/pieces.tsx';
import { Clock } from '../parts/time.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { narrow } from '../parts/narrow.ts';
import { href } from '../router.ts';
import { store } from '../store/store.ts';
import { summary } from '../store/summary.ts';

const filter = signal('');
const noun = signal('all');
const held = signal<readonly ReveilleEvent[] | null>(null);

const NOUNS = [
  'all',
  'task',
  'run',
  'turn',
  'plan',
  'message',
  'request',
  'conflict',
  'budget',
  'session',
] as const;

/** Every committed fact, the newest first. */
export function Activity() {
  // Drawn again with every picture.
  const version = store.version.value;
  const source = held.value ?? store.events;
  const found = matching(source);
  return (
    <>
      <header class="head">
        <h1>Activity</h1>
        <div class="filters">
          <input
            type="search"
            data-filter
            aria-label="Filter events"
            placeholder="Filter: a type, a task, words"
            value={filter.value}
            onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
          />
          <select
            aria-label="Kind of event"
            value={noun.value}
            onChange={({ currentTarget }) => (noun.value = currentTarget.value)}
          >
            {NOUNS.map((name) => (
              <option key={name} value={name}>
                {name === 'all' ? 'everything' : name}
              </option>
            ))}
          </select>
          <button
            type="button"
            class="button"
            aria-pressed={held.value !== null}
            onClick={() => (held.value = held.value ? null : [...store.events])}
          >
            {held.value ? 'Go on' : 'Hold'}
          </button>
        </div>
      </header>
      {found.length === 0 ? (
        <Empty
          title={version > 0 && source.length === 0 ? 'Nothing has happened yet.' : 'No event is like that.'}
        />
      ) : (
        <Virtual items={found} height={narrow.value ? 50 : 30} label="Events" keyOf={({ number }) => number}>
          {(event) => <EventLine event={event} />}
        </Virtual>
      )}
    </>
  );
}

function matching(events: readonly ReveilleEvent[]): ReveilleEvent[] {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const prefix = noun.value === 'all' ? '' : `${noun.value}.`;
  // Without words nothing has to be looked through.
  const matches = (event: ReveilleEvent): boolean => {
    const text = words.length > 0 ? textOf(event) : '';
    return words.every((word) => text.includes(word));
  };
  const fits = (event: ReveilleEvent): boolean => event.type.startsWith(prefix) && matches(event);
  return events.filter(fits).reverse();
}

const textOf = (event: ReveilleEvent): string =>
  `${event.number} ${event.type} ${subjectOf(event)} ${JSON.stringify(event)}`.toLowerCase();

function subjectOf({ task, plan, session }: ReveilleEvent): string {
  if (task !== undefined && isId('task', task)) return store.rows.get(task)?.name ?? task;
  if (plan !== undefined && isId('plan', plan)) return store.plans.get(plan)?.name ?? plan;
  if (session !== undefined && isId('session', session))
    return store.sessions.get(session)?.name ?? summary().bySession.get(session)?.name ?? session;
  return '';
}

function placeOf({ task, plan }: ReveilleEvent): string | null {
  if (task !== undefined) return `/task/${task}`;
  return plan === undefined ? null : `/plan/${plan}`;
}

const EventLine = ({ event }: { event: ReveilleEvent }) => {
  const to = placeOf(event);
  const inner = (
    <>
      <span class="event-number">{event.number}</span>
      <Clock at={event.at} />
      <span class="event-type">{event.type}</span>
      <span class="event-subject">{subjectOf(event)}</span>
      <span class="event-data">{dataOf(event)}</span>
    </>
  );
  return to === null ? (
    <div class="event">{inner}</div>
  ) : (
    <a class="event" href={href(to)} data-item>
      {inner}
    </a>
  );
};

const dataOf = ({ data = {} }: ReveilleEvent): string =>
  oneLine(
    Object.entries(data)
      .filter(([, value]) => value !== null && value !== '')
      .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(' · '),
  );
