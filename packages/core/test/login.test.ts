import type { OpenSpec } from '@reveille/core';
import type { Request } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { paperCheckouts } from './paper-checkouts.ts';
import { quiet, start, type World, type WorldOptions } from './world.ts';

const asked = async (world: World): Promise<Request> => (await world.person.inbox())[0]!;

/** A task whose agent has worked when its login is refused. */
async function refusedInTheMiddle(options: WorldOptions = {}) {
  const opened: Pick<OpenSpec, 'fresh'>[] = [];
  const paper = paperCheckouts(() => null);
  const world = await start({
    ...options,
    workspaces: { ...paper, open: (spec) => (opened.push({ fresh: spec.fresh }), paper.open(spec)) },
  });
  await world.plan({ a: [] });
  const a = world.worker('a');
  await a.says('half of it');
  await a.fails('auth', 'run `codex login`');
  return { world, opened, a };
}

describe('a login that is refused in the middle', () => {
  test('[HLT5.3] waits for the person; "retry" goes on in the same session and checkout, told why it was stopped', async () => {
    const { world: made, opened, a } = await refusedInTheMiddle();
    await using world = made;
    const request = await asked(world);
    expect(request).toMatchObject({ kind: 'failure', with: null });
    expect(request.text).toMatch(
      /run `codex login` When that is mended, "retry": it goes on with what is there/,
    );
    await world.person.answer({ request: request.id, answer: 'retry' });
    await quiet();
    const again = world.worker('a');
    expect(again).not.toBe(a);
    expect(again.spec).toMatchObject({ session: a.spec.session, resume: `history of ${a.spec.run}` });
    expect(again.last.text).toContain('You were stopped because your login was refused');
    expect(again.last.text).not.toContain('do a');
    expect(opened).toEqual([{ fresh: false }, { fresh: false }]);
    await again.reports();
  });

  test('[HLT5.3] an agent that cannot take its session up, or another one, has its task and what attempt 1 did', async () => {
    for (const answer of ['retry', 'retry with claude:coder']) {
      const { world: made, opened } = await refusedInTheMiddle({ forgets: true });
      await using world = made;
      await world.person.answer({ request: (await asked(world)).id, answer });
      await quiet();
      const again = world.worker('a');
      expect(again.spec.resume).toBeNull();
      expect(again.last.text).toMatch(
        /do a[\s\S]*Attempt 1 at this task, by @scripted:agent, was stopped because its login was refused\. What it did is in your worktree[\s\S]*half of it/,
      );
      expect(opened.at(-1)).toEqual({ fresh: false });
      await again.reports();
    }
  });

  test('[HLT5.3] of an agent’s child too: the parent is told of the end, the person can mend it', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.worker('child').says('something');
    await world.worker('child').fails('auth', 'no key');
    const request = await asked(world);
    expect(request).toMatchObject({ kind: 'failure', task: world.worker('child').task, with: null });
    const [told] = await world.ownersMail('child', 'end');
    expect(told).toMatchObject({ request: null });
    await world.person.answer({ request: request.id, answer: 'retry' });
    await quiet();
    expect(world.worker('child').last.text).toContain('your login was refused');
    expect(await world.state('child')).toBe('running');
  });

  test('[HLT5.3] one that worked and failed at once has begun', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.hears({ type: 'output', text: 'half of it' });
    await a.fails('auth', 'no key');
    await world.person.answer({ request: (await asked(world)).id, answer: 'retry' });
    await quiet();
    expect(world.worker('a').last.text).toContain('your login was refused');
  });

  test('[HLT5.3] one that never began is given its task as any other', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').fails('auth', 'no key');
    await world.person.answer({ request: (await asked(world)).id, answer: 'retry' });
    await quiet();
    expect(world.worker('a').spec.resume).toBeNull();
    expect(world.worker('a').last.text).toContain('do a');
    expect(world.worker('a').last.text).not.toContain('login was refused');
  });

  test('[HLT5.3] any other failure begins anew', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').says('half of it');
    await world.worker('a').fails('refusal');
    await world.person.answer({ request: (await asked(world)).id, answer: 'retry' });
    await quiet();
    expect(world.worker('a').spec.resume).toBeNull();
    expect(world.worker('a').last.text).not.toContain('stopped because');
  });
});
