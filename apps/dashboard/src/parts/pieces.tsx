import type { ComponentChildren } from 'preact';
import type { TaskRow } from '@reveille/protocol';
import { COLUMNS, COLUMN_WORDS, columnOf, summary, type Column } from '../store/summary.ts';

/** Nothing there, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children ? <p>{children}</p> : null}
  </div>
);

export const Section = (props: {
  title: string;
  count?: number | undefined;
  children: ComponentChildren;
  aside?: ComponentChildren;
}) => (
  <section class="section" aria-label={props.title}>
    <h2 class="section-title">
      {props.title}
      {props.count === undefined ? null : <span class="count">{props.count.toLocaleString('en')}</span>}
      {props.aside ? <span class="section-aside">{props.aside}</span> : null}
    </h2>
    {props.children}
  </section>
);

export const Tabs = ({
  tabs,
  at,
  to,
}: {
  tabs: readonly string[];
  at: string;
  to: (tab: string) => string;
}) => (
  <nav class="tabs" aria-label="Parts">
    {tabs.map((tab) => (
      <a key={tab} href={to(tab)} aria-current={tab === at ? 'page' : undefined} data-tab={tab}>
        {`${tab.charAt(0).toUpperCase()}${tab.slice(1)}`}
      </a>
    ))}
  </nav>
);

/** How far a plan is, by derived state. */
export function Progress({ rows, label }: { rows: readonly TaskRow[]; label: string }) {
  const { requestOf } = summary();
  const counts = new Map<Column, number>();
  for (const row of rows) {
    const column = columnOf(row, requestOf.has(row.id));
    counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  const shown = [...ORDER].filter((column) => (counts.get(column) ?? 0) > 0);
  const words = shown
    .map((column) => `${counts.get(column)} ${COLUMN_WORDS[column].toLowerCase()}`)
    .join(', ');
  return (
    <div class="progress" role="img" aria-label={`${label}: ${words || 'no tasks'}`} title={words}>
      {shown.map((column) => (
        <span key={column} class={`progress-part part-${column}`} style={{ flexGrow: counts.get(column) }} />
      ))}
    </div>
  );
}

const ORDER: readonly Column[] = [
  'done',
  'review',
  'working',
  'needs',
  'waiting',
  'failed',
  'queued',
] satisfies readonly (typeof COLUMNS)[number][];
