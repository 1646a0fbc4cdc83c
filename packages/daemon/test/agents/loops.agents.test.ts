import type { Client, TaskView } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentsHouse, endOf, report, scripted } from './house.ts';
import { VENDORS } from './vendors.ts';

describe.each(VENDORS)('loops of $name', ({ name, shell }) => {
  let house: AgentsHouse;
  let client: Client;
  beforeAll(async () => {
    house = await AgentsHouse.open();
    client = await house.connect();
  });
  afterAll(() => house[Symbol.asyncDispose]());

  const loopsOf = async ({ task }: TaskView): Promise<unknown[]> => {
    const events = await client.events(0, 10_000);
    return events.flatMap((event) =>
      event.type === 'health.looping' && event.task === task.id ? [event.data?.['text']] : [],
    );
  };

  test.concurrent('[HLT2.21] forty quiet commands that change a file are no loop, and each is a call of its own', async () => {
    const calls = Array.from({ length: 42 }, (_, i) => shell(`echo ${i} >> n.txt`));
    const view = await house.run(client, {
      agent: `${name}:coder`,
      prompt: scripted({ steps: [...calls, report('done')] }),
    });
    await endOf(client, view);
    expect(await loopsOf(view)).toEqual([]);
  });

  test.concurrent('[HLT2.21] the same command again and again is a loop', async () => {
    const calls = Array.from({ length: 6 }, () => shell('cat README.md'));
    const view = await house.run(client, {
      agent: `${name}:coder`,
      prompt: scripted({ steps: [...calls, report('done')] }),
    });
    await endOf(client, view);
    expect(await loopsOf(view)).toEqual([
      expect.stringContaining('with the same arguments 5 times in a row'),
    ]);
  });
});
