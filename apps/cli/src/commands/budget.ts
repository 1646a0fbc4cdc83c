import { budgetLines, limitsOf } from '../budget-words.ts';
import { command } from '../command/spec.ts';
import { findEither, viewpointOf } from '../find.ts';
import { print, reach } from '../reach.ts';

export const budget = command({
  name: 'budget',
  group: 'Work',
  summary: 'shows what a plan or a task may use and has used, and changes it',
  usage: '<plan|task>',
  about: `What a task uses comes out of its own budget and of all above it. What stopped because a limit was reached goes on
when that limit is raised. A limit cannot be below what is used already.`,
  options: {
    tokens: { type: 'string', value: 'N', means: 'how many tokens it may use: 2000, 500k, 1.5m' },
    usd: { type: 'string', value: 'N', means: 'how many dollars' },
    turns: { type: 'string', value: 'N', means: 'how many turns' },
    spawns: { type: 'string', value: 'N', means: 'how many subtasks, all below it together' },
    minutes: { type: 'string', value: 'N', means: 'how long, from its first run on' },
  },
  json: '{ chain, below, tasks }: the budget with those above it, those below it, and what each task used.',
  async run(call) {
    const [name = ''] = call.args;
    const limits = limitsOf(call.options, call.command);
    const client = await reach(call);
    const { plan, task } = await findEither(client, name, await viewpointOf(call));
    const node = plan ? plan.id : task.task.id;
    if (Object.keys(limits).length > 0) await client.raiseBudget(node, limits);
    const view = await client.getBudget(node);
    print(call, view, () => budgetLines(view, Date.now()));
  },
});
