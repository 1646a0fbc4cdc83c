import { expect, test } from 'vitest';
import { play } from '../goal.ts';
import { AgentsHouse } from './house.ts';
import { VENDORS } from './vendors.ts';

test.for(VENDORS.filter(({ name }) => name === 'claude'))(
  '[ORC1.91] $name as orchestrator and workers: from a goal to its integration',
  async ({ name, shell }) => {
    await using house = await AgentsHouse.open({
      engine: { steer: false },
      acp: { custom: { missing: { command: ['/nowhere/an-agent'] } } },
    });
    const client = await house.connect();
    const { plan } = await play({
      client,
      model: house.model,
      repository: house.root,
      backend: name,
      make: (path) => shell(`echo ${path} > ${path} && git add -A && git commit -qm "add ${path}"`),
      wrong: { agent: 'missing:coder' },
      instead: `retry with ${name}:coder`,
    });
    expect(plan.plan.state).toBe('completed');
    const files = house.git('ls-tree', '--name-only', 'reveille/The-sign/integration').split('\n');
    expect(files).toEqual(['README.md', 'left.txt', 'right.txt', 'sign.txt']);
  },
);
