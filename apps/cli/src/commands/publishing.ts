import { ReveilleError, type Client, type Plan, type TaskView } from '@reveille/protocol';
import type { Call, Options } from '../command/spec.ts';
import { openRequest, push, wordsOf, type Opened, type Words } from '../publish.ts';
import { print } from '../reach.ts';
import { oneLine } from '../view/columns.ts';

export const INTEGRATE_OPTIONS = {
  push: { type: 'boolean', means: 'push the branch instead, with your own git' },
  pr: { type: 'boolean', means: 'push it and open a pull request, by gh or glab; without one, say how' },
  remote: { type: 'string', value: 'NAME', means: 'push to this remote; origin unless told' },
} as const satisfies Options;
type Asked = Call<typeof INTEGRATE_OPTIONS>;

/** Pushes the branch of a plan's integration, or of a task, and opens a pull request if that was asked for. */
export async function publish(call: Asked, client: Client, what: Plan | TaskView): Promise<number> {
  const { pr, remote = 'origin' } = call.options;
  const { branch, repository, words } = await branchOf(client, what);
  const publication = { repository, branch, remote, env: call.io.env };
  if (!call.options.json) call.io.err.write(`Pushing ${branch} to ${oneLine(remote)} …\n`);
  await push(publication);
  const request = pr ? await openRequest(publication, words) : null;
  print(call, { pushed: { remote, branch }, request }, () => [
    `Pushed ${branch} to ${remote}.`,
    ...told(request),
  ]);
  return request?.url === null ? 5 : 0;
}

function told(request: Opened | null): string[] {
  if (!request) return [];
  if (request.url !== null) return [request.url];
  return [
    `No pull request was opened: ${request.why} To open one:`,
    ...request.commands.map((line) => `  ${line}`),
  ];
}

interface Branch {
  readonly branch: string;
  readonly repository: string;
  readonly words: Words;
}

async function branchOf(client: Client, what: Plan | TaskView): Promise<Branch> {
  const view = 'task' in what ? what : await integrationOf(client, what);
  const plan = view.task.plan === null ? null : await client.getPlan(view.task.plan);
  const { repository, name, state } = view.task;
  if (!view.end?.work || repository === null)
    throw new ReveilleError('wrong_state', `${oneLine(name)} is ${state} and has left no branch to push.`);
  const words = plan ? wordsOf(plan.plan, plan.tasks) : { title: oneLine(name), body: '', base: null };
  const ownWords = 'task' in what ? { ...words, title: oneLine(name) } : words;
  return { branch: view.end.work.branch, repository, words: ownWords };
}

async function integrationOf(client: Client, plan: Plan): Promise<TaskView> {
  if (plan.integration === null)
    throw new ReveilleError(
      'wrong_state',
      `"${oneLine(plan.name)}" has no integration: push its tasks one by one.`,
    );
  const view = await client.getTask(plan.integration);
  if (view.task.state === 'completed') return view;
  throw new ReveilleError(
    'wrong_state',
    `The integration of "${oneLine(plan.name)}" is ${view.task.state}: ${view.task.why}.`,
  );
}
