import {
  ReveilleError,
  choiceIn,
  choiceLines,
  choicesOf,
  isId,
  isLook,
  type Choice,
  type Client,
  type Request,
} from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findRequest, viewpointOf } from '../find.ts';
import { paintOf, print, reach } from '../reach.ts';
import { oneLine } from '../view/columns.ts';
import { requestLines, type InboxItem } from '../view/list.ts';
import { promptOf } from './spawn.ts';

const GROUP = 'What waits for you';

const inbox = command({
  name: 'inbox',
  group: GROUP,
  summary: 'lists questions, approvals, reviews and failures that wait for you',
  usage: '[request|task]',
  about: '',
  options: {},
  json: '{ requests }: each with the name of its task, its plan (ofPlan: { id, name } or null) and its choices: [{ id, label, takes }].',
  async run(call) {
    const client = await reach(call);
    const [name] = call.args;
    const wanted =
      name === undefined ? await client.inbox() : [await findRequest(client, name, await viewpointOf(call))];
    const requests = await withNames(client, wanted);
    const columns = call.io.out.columns ?? 120;
    const list = { columns, now: Date.now(), paint: paintOf(call), whole: name !== undefined };
    print(call, { requests }, () =>
      requests.length > 0 ? requestLines(requests, list) : ['Nothing waits for you.'],
    );
  },
});

type Item = InboxItem & { readonly choices: readonly Choice[] };

async function withNames(client: Client, requests: readonly Request[]): Promise<Item[]> {
  const plans = requests.length > 0 ? await client.listPlans() : [];
  return Promise.all(
    requests.map(async (request) => {
      const { task } = await client.getTask(request.task);
      const plan = plans.find(({ id }) => id === task.plan);
      const ofPlan = plan ? { id: plan.id, name: plan.name } : null;
      return { ...request, choices: choicesOf(request), name: task.name, ofPlan };
    }),
  );
}

const answer = command({
  name: 'answer',
  group: GROUP,
  summary: 'answers a question, or makes a choice; the asker goes on',
  usage: '<request|task> <answer…>',
  about:
    'A choice is named by its number, its id or its label. An answer of - is read from the input. Everything is answered once; a second answer is refused.',
  options: {},
  json: '{ request }: as it is now.',
  async run(call) {
    const [name = '', ...words] = call.args;
    const client = await reach(call);
    const text = await promptOf(call.io, words);
    // By its whole id also one that waits for an agent, or for nobody any more: then it is said what became of it.
    if (isId('req', name) && !(await client.inbox()).some(({ id }) => id === name))
      return give(call, client, { id: name }, text);
    const request = await findRequest(client, name, await viewpointOf(call));
    if (isLook(request, choiceIn(request, text))) return showDetails(call, client, request);
    return give(call, client, request, text);
  },
});

/** What there is to know about a failure; it goes on waiting for an answer. */
async function showDetails(call: Call, client: Client, request: Request): Promise<void> {
  const { task, run, end } = await client.getTask(request.task);
  print(call, { request, task, run, end }, () => [
    request.text,
    ...(end?.output ? ['', end.output] : []),
    ...(end?.work ? ['', `Worktree ${end.work.worktree}, branch ${end.work.branch}`] : []),
    '',
    `All it did: reveille logs ${task.id}. Its changes: reveille diff ${task.id}.`,
    'It still waits:',
    ...choiceLines(request).map((line) => `  ${line}`),
  ]);
}

const VERDICTS = {
  approve: {
    does: 'allows what a worker asks for, or approves its work',
    review: 'approve',
    plan: 'approve',
  },
  deny: {
    does: 'refuses what a worker asks for, or rejects its work',
    review: 'reject',
    plan: 'cancel',
  },
} as const;

const verdict = (verb: keyof typeof VERDICTS) =>
  command({
    name: verb,
    group: GROUP,
    summary: VERDICTS[verb].does,
    usage: '<request|task> [why…]',
    about:
      verb === 'deny'
        ? 'Work that is rejected has failed; a plan is dropped, or, with a reason, made anew. To have something changed instead: reveille answer <request> changes: <what>.'
        : '',
    options: {},
    json: '{ request }: as it is now.',
    async run(call) {
      const [name = '', ...why] = call.args;
      const client = await reach(call);
      const request = await findRequest(client, name, await viewpointOf(call));
      // A reason not to start a plan says what is to be different about it.
      if (request.kind === 'plan' && verb === 'deny' && why.length > 0)
        return give(call, client, request, `changes: ${why.join(' ')}`);
      const word = verdictWord(request, verb);
      // A verdict on work is a word by itself; to a request for approval a reason may be added.
      const text = request.kind === 'approval' && why.length > 0 ? `${word}: ${why.join(' ')}` : word;
      return give(call, client, request, text);
    },
  });

function verdictWord(request: Request, verb: keyof typeof VERDICTS): string {
  const { id, kind } = request;
  if (kind === 'review' || kind === 'plan') return VERDICTS[verb][kind];
  if (kind !== 'approval')
    throw new ReveilleError(
      'wrong_state',
      `${id} is a ${kind}, not a request for approval. Its choices: ${choiceLines(request).join(' | ') || 'none; answer in your own words'}. Answer with: reveille answer ${id} <answer>.`,
    );
  return choiceIn(request, verb)?.id ?? verb;
}

async function give(call: Call, client: Client, { id }: Pick<Request, 'id'>, text: string): Promise<void> {
  const request = await client.answer({ request: id, answer: text });
  const { task } = await client.getTask(request.task);
  print(call, { request }, () => [`Answered "${oneLine(task.name)}" (${id}): ${chosenWords(request, text)}`]);
}

/** The choice that was made, by its label, since a number says nothing; otherwise the answer as it was given. */
function chosenWords(request: Request, text: string): string {
  const chosen = choiceIn(request, text);
  const choice = choicesOf(request).find(({ id }) => id === chosen?.id);
  if (!chosen || !choice) return text;
  return chosen.rest === '' ? choice.label : `${choice.label}: ${chosen.rest}`;
}

export const inboxCommands = [inbox, answer, verdict('approve'), verdict('deny')];
