import { signal } from '@preact/signals';
import { isTerminal, type SessionId, type TaskRow } from '@reveille/protocol';
import { plural } from '../parts/amounts.ts';
import { Empty } from '../parts/pieces.tsx';
import { whyOf } from '../parts/rows.tsx';
import { TaskState } from '../parts/state.tsx';
import { Ago } from '../parts/time.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { href } from '../router.ts';
import { store } from '../store/store.ts';
import { summary, type Summary } from '../store/summary.ts';

type Branch =
  | {
      readonly kind: 'session';
      readonly id: SessionId;
      readonly name: string;
      readonly what: string;
      readonly n: number;
    }
  | { readonly kind: 'task'; readonly row: TaskRow; readonly depth: number; readonly children: number };

const folded = signal<ReadonlySet<string>>(new Set());
const openOnly = signal(false);

function fold(id: string): void {
  const now = new Set(folded.value);
  if (!now.delete(id)) now.add(id);
  folded.value = now;
}

/** Who works for whom, who waits for whom, and what woke them. */
export function Tree() {
  const branches = branchesOf(summary());
  return (
    <>
      <header class="head">
        <h1>Tree</h1>
        <label class="check">
          <input
            type="checkbox"
            checked={openOnly.value}
            onChange={({ currentTarget }) => (openOnly.value = currentTarget.checked)}
          />{' '}
          only what is open
        </label>
      </header>
      {branches.length === 0 ? (
        <Empty title="Nobody has begun anything.">Sessions come here with the tasks that they own.</Empty>
      ) : (
        <Virtual items={branches} height={36} label="Sessions and tasks" keyOf={keyOf}>
          {(branch) => (branch.kind === 'session' ? <SessionLine {...branch} /> : <BranchLine {...branch} />)}
        </Virtual>
      )}
    </>
  );
}

const keyOf = (branch: Branch): string => (branch.kind === 'session' ? branch.id : branch.row.id);

function branchesOf({ byOwner }: Summary): Branch[] {
  const found: Branch[] = [];
  const wanted = (row: TaskRow): boolean => !openOnly.value || !isTerminal(row.state);
  const below = (owner: SessionId, depth: number): void => {
    for (const row of (byOwner.get(owner) ?? []).filter(wanted)) {
      const children = byOwner.get(row.session)?.length ?? 0;
      found.push({ kind: 'task', row, depth, children });
      if (!folded.value.has(row.id) && children > 0) below(row.session, depth + 1);
    }
  };
  for (const { id, name, kind, state } of store.sessions.values()) {
    const owned = byOwner.get(id)?.length ?? 0;
    if (owned === 0) continue;
    found.push({ kind: 'session', id, name, what: state === 'ended' ? `${kind}, ended` : kind, n: owned });
    if (!folded.value.has(id)) below(id, 1);
  }
  return found;
}

const Twist = ({ id, name, has }: { id: string; name: string; has: boolean }) =>
  has ? (
    <button
      type="button"
      class="twist"
      aria-expanded={!folded.value.has(id)}
      aria-label={`Subtasks of ${name}`}
      onClick={() => fold(id)}
    />
  ) : (
    <span class="twist-none" />
  );

const SessionLine = ({ id, name, what, n }: Extract<Branch, { kind: 'session' }>) => (
  <div class="branch branch-session">
    <Twist id={id} name={name} has={n > 0} />
    <strong class="line-name">{name}</strong>
    <span class="quiet">{what}</span>
    <span class="quiet">{plural(n, 'task')}</span>
    <Mail session={id} />
  </div>
);

const BranchLine = ({ row, depth, children }: Extract<Branch, { kind: 'task' }>) => (
  <div class="branch" style={{ paddingLeft: `${depth * 20}px` }}>
    <Twist id={row.id} name={row.name} has={children > 0} />
    <a class="branch-task" href={href(`/task/${row.id}`)} data-item>
      <TaskState row={row} asks={summary().requestOf.has(row.id)} />
      <span class="line-name">{row.name}</span>
      <span class="line-why">{row.waitingOn === 'children' ? waitsFor(row) : whyOf(row)}</span>
    </a>
    <Mail session={row.session} />
    <span class="line-agent">{row.agent}</span>
    <Ago at={row.since} />
  </div>
);

function waitsFor({ session }: TaskRow): string {
  const open = (summary().byOwner.get(session) ?? []).filter(({ state }) => !isTerminal(state));
  const names = open.slice(0, 3).map(({ name }) => name);
  return `waits for ${names.join(', ')}${open.length > 3 ? ` and ${open.length - 3} more` : ''}`;
}

/** The last wake-up, and what still waits in the mailbox. */
const Mail = ({ session }: { session: SessionId }) => {
  const mail = store.mail.get(session);
  if (!mail) return <span class="mail" />;
  return (
    <span class="mail" title="the last message to it">
      {mail.waiting > 0 ? <b>{mail.waiting} waiting · </b> : null}
      {mail.last} <Ago at={mail.at} />
    </span>
  );
};
