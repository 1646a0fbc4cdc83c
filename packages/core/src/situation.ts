import {
  choiceLines,
  formatAgentType,
  isTerminal,
  type Plan,
  type Request,
  type Session,
  type Task,
} from '@reveille/protocol';
import { quote } from './envelope.ts';
import { isOrchestrator } from './orchestrator-session.ts';
import type { Store } from './ports/store.ts';

const SHOWN = 60;

/**
 * What an orchestrator is shown with every event that wakes it (ORC1): its plans, who is at work, and what it may decide
 * now. Read when the turn is handed over, so it is never older than the event. Null: it is none, or has nothing yet.
 */
export async function situation(store: Store, session: Session): Promise<string | null> {
  if (!isOrchestrator(session) || !session.plans) return null;
  const parts: string[] = [];
  for (const id of session.plans) {
    const plan = (await store.get('plan', id))?.doc;
    // One that was dropped before it began is of no more interest.
    if (plan && plan.state !== 'cancelled') parts.push(await planLines(store, plan));
  }
  const asked = await requestsOf(store, session);
  if (parts.length === 0 && asked.length === 0) return null;
  const free =
    asked.length > 0
      ? [
          'Waiting for your decision (orchestrator_answer; "pass on" gives it to whoever is above you):',
          ...asked,
        ]
      : ['Nothing waits for your decision.'];
  return ['# Where things stand', ...parts, ...free].join('\n');
}

async function planLines(store: Store, plan: Plan): Promise<string> {
  const counts = Object.entries(plan.counts).filter(([, count]) => count > 0);
  const head = `Plan ${plan.id} ${quote(plan.name)} is ${plan.state} (${flat(plan.why)}): ${counts.map(([state, count]) => `${count} ${state}`).join(', ')}.`;
  const tasks = (await store.find('task', { list: 'byPlan', equal: [plan.id] })).map((row) => row.doc);
  // Those that have completed need nothing more; the rest, first those that cannot go on.
  const open = tasks.filter(({ state }) => state !== 'completed').toSorted((a, b) => rank(a) - rank(b));
  const lines = open.slice(0, SHOWN).map(taskLine);
  const left = open.length - lines.length;
  return [head, ...lines, ...(left > 0 ? [`- … and ${left} more`] : [])].join('\n');
}

const ORDER: readonly Task['state'][] = ['failed', 'review', 'waiting', 'blocked', 'running', 'ready'];
const rank = ({ state }: Task): number => (ORDER.indexOf(state) + ORDER.length + 1) % (ORDER.length + 1);

/** Of these the state alone says too little. */
const SAYS_WHY: ReadonlySet<Task['state']> = new Set(['blocked', 'review']);

function taskLine(task: Task): string {
  const on = task.waitingOn ? ` on ${task.waitingOn}` : '';
  const attempt = task.attempts > 1 ? `, attempt ${task.attempts}` : '';
  const why = isTerminal(task.state) || SAYS_WHY.has(task.state) ? ` (${flat(task.why)})` : '';
  return `- ${quote(task.key ?? task.name)} ${task.id} ${formatAgentType(task.agent)}: ${task.state}${on}${why}${attempt}`;
}

async function requestsOf(store: Store, session: Session): Promise<string[]> {
  const open = await store.find('request', { list: 'passing', equal: [1] });
  const own = open.map((row) => row.doc).filter((request) => request.with === session.id);
  return Promise.all(own.map((request) => requestLine(store, request)));
}

async function requestLine(store: Store, request: Request): Promise<string> {
  const task = (await store.get('task', request.task))?.doc;
  const choices = choiceLines(request);
  const how = choices.length > 0 ? choices.join(' | ') : 'in your own words';
  return `- ${request.id} ${request.kind} of ${quote(task?.key ?? task?.name ?? '')}: ${flat(request.text)} → ${how}`;
}

/** An agent's word on one line, which no fence can be made of. */
const flat = (text: string): string => quote(text).slice(1, -1);
