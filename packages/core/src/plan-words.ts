import { formatAgentType, visible, type Plan, type Task } from '@reveille/protocol';

/** Tasks that a request for approval names. */
const SHOWN = 500;
/** Characters of the prompts of a plan, all together, and of one of them. */
const ALL_PROMPTS = 40_000;
const ONE_PROMPT = 4_000;

/**
 * What a person is asked about a plan, so that it can be judged without looking anywhere else. All of it was written by an
 * agent: names stay on their line, and longer words are indented, so that nothing passes for another task of the plan.
 */
export function planWords(plan: Plan, tasks: readonly Task[]): string {
  const names = new Map(tasks.map(({ id, key, name }) => [id, line(key ?? name)]));
  const shown = tasks.filter(({ id }) => id !== plan.integration);
  const listed = shown.slice(0, SHOWN);
  const most = Math.min(ONE_PROMPT, Math.max(100, Math.floor(ALL_PROMPTS / (listed.length || 1))));
  const left = shown.length - listed.length;
  const words = [
    `Start the plan "${line(plan.name)}" (${plan.id})?`,
    ...(plan.description === '' ? [] : [indented(plan.description, ONE_PROMPT)]),
    ...(plan.baseBranch === null ? [] : [`It starts from the branch ${line(plan.baseBranch)}.`]),
    ...listed.map((task) => `${taskLine(task, names)}${promptWords(task.prompt.trim(), most)}`),
    ...(left > 0 ? [`- … and ${left} more`] : []),
    ...(plan.integration ? ['Then their branches are merged into one.'] : []),
    ...(plan.verify === null
      ? []
      : [`Each step of the merge is checked by:\n${indented(plan.verify, ONE_PROMPT)}`]),
  ];
  return visible(words.join('\n'));
}

function taskLine(task: Task, names: ReadonlyMap<string, string>): string {
  const about = [
    `${formatAgentType(task.agent)}${task.model === null ? '' : `, model ${line(task.model)}`}`,
    ...(task.dependencies.length > 0
      ? [`after ${task.dependencies.map((id) => names.get(id) ?? id).join(', ')}`]
      : []),
    ...reviewWords(task),
  ];
  const dropped = task.state === 'cancelled' ? ' is cancelled and will not be done' : '';
  return `- ${names.get(task.id)}${dropped} (${about.join(' ')}):`;
}

/** On the line of its task, if it is short. */
const promptWords = (prompt: string, most: number): string =>
  prompt.length <= 160 && line(prompt) === prompt ? ` ${prompt}` : `\n${indented(prompt, most)}`;

function reviewWords({ review, reviewing }: Task): string[] {
  if (review === 'none') return [];
  const by = review === 'agent' && reviewing?.by ? formatAgentType(reviewing.by) : `the ${review}`;
  return [`reviewed by ${by}`];
}

const line = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 200);

function indented(text: string, most: number): string {
  const rest = text.length - most;
  const shown =
    rest > 0 ? `${text.slice(0, most)}\n… ${rest} characters more, which are not shown here` : text;
  return shown.replaceAll(/^/gm, '    ');
}
