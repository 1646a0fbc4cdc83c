import {
  areNumbered,
  choiceLines,
  choicesOf,
  formatAgentType,
  isOwnWords,
  takesFreeText,
  visible,
  type Plan,
  type Request,
  type TaskView,
  withoutCause,
} from '@reveille/protocol';
import type { Paint } from '../ansi.ts';
import { fit, pad, padStart, width } from './columns.ts';
import { PLAN_COLOURS, duration, shownHealth, taskLook } from './words.ts';

interface ListOptions {
  readonly columns: number;
  readonly now: number;
  readonly paint: Paint;
}

const STATE = 10;
const TIME = 8;

/** One line each: state, how long, how far, name, why, id. */
export function planLines(plans: readonly Plan[], { columns, now, paint }: ListOptions): string[] {
  const name = nameWidth(plans, columns - STATE - TIME - 9 - 6);
  return plans.flatMap((plan) => {
    const colour = PLAN_COLOURS[plan.state];
    const left = [
      paint(colour, pad(plan.state, STATE)),
      paint('dim', padStart(duration(now - plan.since), TIME)),
      padStart(progress(plan), 9),
      paint('bold', pad(fit(plan.name, name), name)),
    ].join('  ');
    const room = columns - STATE - TIME - 9 - name - 6;
    return withId(left, plan.id, plan.why, { room, paint });
  });
}

function progress({ counts }: Plan): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `${counts['completed'] ?? 0}/${all}`;
}

export function taskLines(views: readonly TaskView[], { columns, now, paint }: ListOptions): string[] {
  const named = views.map(({ task }) => task);
  const name = nameWidth(named, columns - STATE - TIME - 6);
  return views.flatMap((view) => {
    const { task } = view;
    const health = shownHealth(view, now);
    const { sign, colour, word } = taskLook(task.state, health);
    const agent = columns < 60 ? '' : formatAgentType(task.agent);
    const left = [
      paint(colour, `${sign} ${pad(word, STATE)}`),
      paint('dim', padStart(duration(now - task.since), TIME)),
      paint('bold', pad(fit(task.name, name), name)),
      ...(agent === '' ? [] : [paint('dim', agent)]),
    ].join('  ');
    const room = columns - STATE - TIME - name - agent.length - 10;
    return withId(left, task.id, health?.why ?? withoutCause(task.why), { room, paint });
  });
}

const nameWidth = (named: readonly { readonly name: string }[], room: number): number =>
  Math.max(4, Math.min(40, room, Math.max(...named.map(({ name }) => width(name)))));

/** The id is what the next command takes: it stays whole, and the words give way; in a narrow place it has its own line. */
function withId(
  left: string,
  id: string,
  why: string,
  { room, paint }: { room: number; paint: Paint },
): string[] {
  if (room < id.length) return [left.trimEnd(), `  ${paint('dim', id)}`];
  const words = fit(why, room - id.length - 2);
  return [`${left}  ${paint('dim', id)}${words === '' ? '' : `  ${words}`}`];
}

/** A request as the inbox lists it, with the name of its task and the plan of that task. */
export type InboxItem = Request & {
  readonly name: string;
  readonly ofPlan: Pick<Plan, 'id' | 'name'> | null;
};

/** What waits for the person, with what to type. */
export function requestLines(
  requests: readonly InboxItem[],
  options: ListOptions & { readonly whole?: boolean },
): string[] {
  const { columns, paint, whole = false } = options;
  return requests.flatMap((request) => [
    headLine(request, requests, options),
    ...(isOwnWords(request)
      ? [paint('dim', '  It asks in its own words: what it then does is not bound to them.')]
      : []),
    ...(whole ? wholeText(request) : textLines(request, columns)),
    ...(request.kind === 'review' ? [paint('dim', `  All changes: reveille diff ${request.task}`)] : []),
    ...choiceLines(request).map((line) => paint('dim', `  ${fit(line, columns - 2)}`)),
    ...answerLines(request).map((line) => paint('dim', `  ${line}`)),
  ]);
}

/** The kind of a request, its age, its task and the plan of that; with the plan's id if another plan in the list has its name. */
function headLine(
  request: InboxItem,
  all: readonly InboxItem[],
  { columns, now, paint }: ListOptions,
): string {
  const { kind, name, at, ofPlan: plan } = request;
  const isTwin = all.some(({ ofPlan: other }) => other?.name === plan?.name && other?.id !== plan?.id);
  const of = plan === null ? '' : `of ${plan.name}${isTwin ? ` (${plan.id})` : ''}`;
  const short = fit(name, columns - 22);
  const room = columns - 24 - width(short);
  const left = `${paint('yellow', pad(kind, STATE))} ${paint('dim', padStart(duration(now - at), TIME))}  ${paint('bold', short)}`;
  return of === '' || room < 8 ? left : `${left}  ${paint('dim', fit(of, room))}`;
}

const MOST_LINES = 20;

/** The beginning of a request; of what is left out it is said how to see it. */
function textLines({ id, text }: Request, columns: number): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  const isCut = lines.length > MOST_LINES || lines.some((line) => line.length > columns - 2);
  return [
    ...lines.slice(0, MOST_LINES).map((line) => `  ${fit(line, columns - 2)}`),
    ...(isCut ? [`  … all of it: reveille inbox ${id}`] : []),
  ];
}

/** All that is kept of a request, with nothing cut. */
function wholeText({ text, action }: Request): string[] {
  const more = [action?.command ?? '', action?.detail ?? ''].filter((part) => part.length > SHOWN_IN_TEXT);
  return [text, ...more].flatMap((part) => visible(part).split('\n')).map((line) => `  ${line}`);
}

/** Longer parts of an action are cut in the words of its request. */
const SHOWN_IN_TEXT = 4_000;

/**
 * The lines to paste, with nothing else in them: the first choice by its number, or by its id in quotes where numbers could
 * mean two things, then a choice that needs words, then an answer in the person's own words.
 */
function answerLines(request: Request): string[] {
  const choices = choicesOf(request);
  const [first] = choices;
  const needing = choices.find(({ needsWords }) => needsWords);
  const answers = [
    ...(first ? [areNumbered(choices) ? '1' : first.id] : []),
    ...(needing ? [`${needing.id}: ${needing.takes}`] : []),
    ...(takesFreeText(request) ? ['your own words'] : []),
  ];
  return answers.map((answer) => `reveille answer ${request.id} ${shellWord(answer)}`);
}

/** A word as the shell takes it whole. */
const shellWord = (text: string): string =>
  /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
