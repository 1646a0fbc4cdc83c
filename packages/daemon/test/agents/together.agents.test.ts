import { readFileSync } from 'node:fs';
import { PlanInput } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { AgentsHouse, report, until, withScript } from './house.ts';
import { VENDORS } from './vendors.ts';

const EXAMPLE = new URL('../../../../examples/five-agents.yaml', import.meta.url);

test('[EXE10.8] agents of all vendors at once, in one repository, and their work is integrated', async () => {
  await using house = await AgentsHouse.open();
  const client = await house.connect();
  const plan = PlanInput.parse(parse(readFileSync(EXAMPLE, 'utf8')));
  const vendors = new Map(VENDORS.map((vendor) => [vendor.name as string, vendor]));
  const tasks = plan.tasks.flatMap((task) => {
    const vendor = vendors.get(task.id);
    const work = `mkdir -p reveille-example && echo ${task.id} > reveille-example/${task.id}.md`;
    const commit = `git add -A && git commit -qm "by ${task.id}"`;
    if (!vendor) return [];
    const steps = [{ ...vendor.shell(`${work} && ${commit}`), hold: 'all' }, report(`${task.id} is done`)];
    return [{ ...task, prompt: withScript(task.prompt, { steps }) }];
  });
  expect(tasks.map(({ id }) => id).toSorted()).toEqual([...vendors.keys()].toSorted());
  const view = await client.savePlan({ ...plan, repository: house.root, tasks }, { start: true });
  // All of them at once: none goes on before every one is at work.
  await until(() => house.model.held('all') === VENDORS.length);
  house.model.release('all');
  const stateOf = async (): Promise<string> => (await client.getPlan(view.plan.id)).plan.state;
  await until(async () => ['completed', 'failed', 'cancelled'].includes(await stateOf()));
  expect(await stateOf()).toBe('completed');
  const files = house
    .git('ls-tree', '--name-only', 'reveille/Five-agents/integration', 'reveille-example/')
    .split('\n');
  expect(files).toEqual(VENDORS.map(({ name }) => `reveille-example/${name}.md`).toSorted());
});
