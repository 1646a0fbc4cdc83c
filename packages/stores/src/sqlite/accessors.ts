import type { TableName, Tables } from '@reveille/core';
import type { Doc } from '../columns.ts';

/** What is done with every version of every row of a table. */
export interface Accessors<D> {
  /** By identity: whoever makes the next version of a row copies what it leaves alone. */
  readonly sameFixed: (a: D, b: D) => boolean;
  /** The values of the live half. */
  readonly live: (doc: D) => readonly unknown[];
}

/**
 * The tables that are written with every task, field by field: a loop over names costs several times as much, for the compiler
 * cannot know what is read. Which fields these read is asked of themselves (`fieldsRead`). If the file, or INDEX, says
 * otherwise they are not used: a field that is forgotten here costs time, and nothing else.
 */
const BY_HAND: { readonly [T in TableName]?: Accessors<Tables[T]> } = {
  task: {
    sameFixed: (a, b) =>
      a.id === b.id &&
      a.plan === b.plan &&
      a.key === b.key &&
      a.name === b.name &&
      a.prompt === b.prompt &&
      a.expectedOutput === b.expectedOutput &&
      a.resultSchema === b.resultSchema &&
      a.repository === b.repository &&
      a.checkpoint === b.checkpoint &&
      a.isolation === b.isolation &&
      a.agent === b.agent &&
      a.model === b.model &&
      a.priority === b.priority &&
      a.targetFiles === b.targetFiles &&
      a.review === b.review &&
      a.owner === b.owner &&
      a.session === b.session &&
      a.depth === b.depth &&
      a.dependencies === b.dependencies &&
      a.dependents === b.dependents &&
      a.budget === b.budget &&
      a.createdAt === b.createdAt &&
      a.policy === b.policy &&
      a.reviews === b.reviews &&
      a.startsFrom === b.startsFrom,
    live: (t) => [
      t.openDependencies,
      t.badDependencies,
      t.state,
      t.why,
      t.since,
      t.waitingOn,
      t.cancelling,
      t.run,
      t.lastRun,
      t.attempts,
      t.byHand,
      t.plans,
      t.from,
      t.reviewing,
    ],
  },
  session: {
    sameFixed: (a, b) =>
      a.id === b.id &&
      a.kind === b.kind &&
      a.name === b.name &&
      a.parent === b.parent &&
      a.rootKind === b.rootKind &&
      a.depth === b.depth &&
      a.task === b.task &&
      a.repository === b.repository &&
      a.createdAt === b.createdAt,
    live: (s) => [s.state, s.mail, s.childrenTotal, s.childrenOpen, s.requests, s.plans, s.planned, s.spawns],
  },
  run: {
    sameFixed: (a, b) =>
      a.id === b.id &&
      a.task === b.task &&
      a.session === b.session &&
      a.attempt === b.attempt &&
      a.startedAt === b.startedAt,
    live: (r) => [
      r.state,
      r.host,
      r.epoch,
      r.identity,
      r.on,
      r.swap,
      r.resume,
      r.turn,
      r.turns,
      r.assigned,
      r.paused,
      r.takenOver,
      r.faults,
      r.retryAt,
      r.inquiry,
      r.lastWords,
      r.health,
      r.used,
      r.counts,
      r.resources,
      r.end,
      r.grants,
      r.short,
      r.raises,
    ],
  },
  message: {
    sameFixed: (a, b) =>
      a.id === b.id &&
      a.to === b.to &&
      a.number === b.number &&
      a.key === b.key &&
      a.kind === b.kind &&
      a.from === b.from &&
      a.task === b.task &&
      a.run === b.run &&
      a.request === b.request &&
      a.text === b.text &&
      a.urgent === b.urgent &&
      a.quiet === b.quiet &&
      a.at === b.at,
    live: (m) => [m.state, m.taken, m.maybeSeen, m.dead],
  },
};

export function byHand(table: TableName): Accessors<Doc> | undefined {
  // They are only ever given documents of their table, which the type of a row of any table cannot say.
  return BY_HAND[table] as Accessors<Doc> | undefined;
}

/** The fields that a function reads of a document, in its order. */
export function fieldsRead(read: (doc: Doc) => unknown): string[] {
  const names: string[] = [];
  const asked = new Proxy({}, { get: (_, name) => void names.push(String(name)) });
  read(asked as Doc);
  return names;
}
