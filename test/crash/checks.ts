import { isTerminal, type Message } from '@reveille/protocol';
import { readEffects, type Effect } from './effects.ts';
import type { Snapshot } from './snapshot.ts';

export interface Problem {
  readonly kind: 'lost' | 'doubled' | 'stuck' | 'broken';
  readonly text: string;
}

type Report = (kind: Problem['kind'], text: string) => void;
type History = ReadonlyMap<string, readonly Effect[]>;

/** What must hold whenever the victim is dead: the database against itself and against what the world saw. */
export function checkAfterKill(world: string, db: Snapshot | null): Problem[] {
  const history = readEffects(world);
  return collect((report) => {
    if (!db) {
      if (history.size > 0) report('broken', 'there were effects, and there is no database');
      return;
    }
    if (db.integrity !== 'ok') report('broken', `integrity check: ${db.integrity}`);
    checkEvents(db, report);
    checkEnds(db, report);
    for (const [session, effects] of history) {
      checkHandOvers(db, session, effects, report);
      for (const { words } of effects) checkAcknowledged(db, session, words, report);
    }
  });
}

/** What must hold when everything was allowed to end. */
export function checkAtEnd(world: string, db: Snapshot | null): Problem[] {
  const history = readEffects(world);
  return collect((report) => {
    if (!db) return report('lost', 'there is no database');
    for (const plan of db.plans.values()) {
      if (plan.state !== 'completed') report('stuck', `${plan.id} is ${plan.state}: ${plan.why}`);
    }
    for (const task of db.tasks.values()) {
      if (!isTerminal(task.state)) report('stuck', `${task.id} "${task.name}" is ${task.state}: ${task.why}`);
    }
    for (const message of db.messages.values()) checkArrived(db, message, history, report);
  });
}

function collect(check: (report: Report) => void): Problem[] {
  const problems: Problem[] = [];
  check((kind, text) => problems.push({ kind, text }));
  return problems;
}

function checkEvents(db: Snapshot, report: Report): void {
  let next = 1;
  for (const { first, count } of db.events) {
    if (first !== next) report('broken', `event ${next} is missing: the log goes on with ${first}`);
    next = first + count;
  }
}

/** A run that ended and the message about it are one commit; and there is one. */
function checkEnds(db: Snapshot, report: Report): void {
  const ends = new Map<string, Message[]>();
  for (const message of db.messages.values()) {
    if (message.kind === 'end' && message.run)
      ends.set(message.run, [...(ends.get(message.run) ?? []), message]);
  }
  for (const run of db.runs.values()) {
    const messages = ends.get(run.id) ?? [];
    if (run.state === 'open' && messages.length > 0)
      report('broken', `${run.id} is open, and its end was told`);
    if (run.state === 'ended' && messages.length === 0)
      report('lost', `${run.id} ended, and nobody was told`);
    if (messages.length > 1) report('doubled', `${run.id} has ${messages.length} messages about its end`);
    if (run.state === 'open' && db.tasks.get(run.task)?.run !== run.id) {
      report('broken', `${run.id} is open, and its task does not know it`);
    }
  }
}

/** Nothing was handed over that is not recorded as such; nothing twice, or where nobody can know, not without the mark. */
function checkHandOvers(db: Snapshot, session: string, effects: readonly Effect[], report: Report): void {
  const remembers = canShowHistory(db, session);
  const seen = new Map<string, string>();
  for (const { life, words } of effects) {
    if (words[0] === 'two') report('doubled', `two agents at once: ${words.join(' ')}`);
    if (words[0] !== 'got') continue;
    const [, via = '', id = '', kind, again] = words;
    const now = `by ${via} in life ${life}${again === '1' ? ', marked' : ''}`;
    const before = seen.get(id);
    // The same key again returns the end again, marked (SUB1.1): whoever asks for it is given it, remembered or not.
    const isAskedFor = via === 'spawn' && again === '1';
    const mayComeAgain = isAskedFor || (!remembers && (again === '1' || kind === 'assignment'));
    if (before !== undefined && !mayComeAgain)
      report('doubled', `${session} was given ${id} (${kind}) twice: ${before}; ${now}`);
    seen.set(id, now);
    if (kind === 'assignment') {
      if (!db.runs.has(id)) report('lost', `${session} was given the task of ${id}, which does not exist`);
      continue;
    }
    const message = db.messages.get(id);
    if (!message) report('lost', `${session} was given ${id}, which does not exist`);
    else if (message.to !== session)
      report('broken', `${session} was given ${id}, which is for ${message.to}`);
    else if (message.state === 'queued' && message.maybeSeen === 0 && !remembers) {
      report('broken', `${session} was given ${id}, and it is queued as if it never was`);
    }
  }
}

function canShowHistory(db: Snapshot, session: string): boolean {
  const task = db.sessions.get(session)?.task;
  const backend = task ? db.tasks.get(task)?.agent.backend : undefined;
  return backend !== undefined && backend !== 'blind';
}

/** What was acknowledged is on disk. */
function checkAcknowledged(db: Snapshot, session: string, words: readonly string[], report: Report): void {
  const [word, call, first = '', second = ''] = words;
  if (word !== 'ack') return;
  const missing = (what: string): void =>
    report('lost', `acknowledged to ${session} and not on disk: ${what}`);
  switch (call) {
    case 'spawn': {
      const task = db.tasks.get(second);
      if (task?.key !== first || task.owner !== session) missing(`spawn ${first} ${second}`);
      return;
    }
    case 'report': {
      const end = db.runs.get(first)?.end;
      if (end?.cause !== 'report' || end.status !== second) missing(`report of ${first}: ${second}`);
      return;
    }
    case 'retry': {
      const task = db.tasks.get(first);
      if (!task || (task.attempts < 2 && task.state === 'failed')) missing(`retry of ${first}`);
      return;
    }
    case 'ask':
      if (!db.requests.has(first)) missing(`question ${first}`);
      return;
    case 'answer':
      if (second === 'ok' && !db.requests.get(first)?.answer) missing(`answer to ${first}`);
      return;
    case 'plan':
      if (!db.plans.has(first)) missing(`plan ${first}`);
      return;
    default:
      report('broken', `what is "${words.join(' ')}"?`);
  }
}

/** Every end reached its owner, who has read it; whoever ended before could not. */
function checkArrived(db: Snapshot, message: Message, history: History, report: Report): void {
  if (message.kind !== 'end') return;
  const what = `${message.id}, the end of ${message.task} for ${message.to}`;
  if (message.state === 'dead') {
    if (db.sessions.get(message.to)?.state !== 'ended') report('lost', `${what} is dead: ${message.dead}`);
    return;
  }
  if (message.state !== 'read') report('lost', `${what} is ${message.state}`);
  const given = history.get(message.to)?.some(({ words }) => words[0] === 'got' && words[2] === message.id);
  if (!given) report('lost', `${what} was never given to it`);
}
