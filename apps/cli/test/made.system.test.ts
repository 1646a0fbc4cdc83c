import { NOTHING_FOUND, type Workspaces } from '@reveille/core';
import {
  loadConfig,
  openLog,
  openPlace,
  placeOf,
  startDaemon,
  type Daemon,
  type Parts,
} from '@reveille/daemon';
import { scriptedExecutor } from '@reveille/executors';
import type { Diff, FileChange, Pulled, Snapshot } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { House } from './house.ts';

const FILES: FileChange[] = [
  { path: 'src/a.ts', insertions: 3, deletions: 1 },
  { path: 'b.md', insertions: 0, deletions: 7 },
];
const SNAPSHOT: Snapshot = { ref: 'refs/reveille/snapshots/1', commit: 'c0ffee', why: 'discarded', at: 0 };
const PATCH = '--- a/b.md\n+++ b/b.md\n-\u001b[2Jold\n';

/** Checkouts that exist on paper: what git does with them is the business of another room. */
const paper: Workspaces = {
  open: async ({ task }) => ({
    path: `/trees/${task.name}`,
    branch: `reveille/${task.name}`,
    environment: {},
    notices: [],
  }),
  inspect: async () => ({ start: { snapshot: null }, files: [], count: 0 }),
  checkpoint: async () => 'c0ffee',
  changedSince: async () => FILES,
  look: async () => NOTHING_FOUND,
  collect: async ({ name }) => ({
    work: {
      worktree: `/trees/${name}`,
      branch: `reveille/${name}`,
      commit: 'c0ffee',
      problem: null,
      files: FILES,
    },
    findings: NOTHING_FOUND,
  }),
  leave: async () => NOTHING_FOUND,
  diff: async ({ name }): Promise<Diff> => ({
    worktree: `/trees/${name}`,
    branch: `reveille/${name}`,
    start: 'c0ffee',
    files: name === 'idle' ? [] : FILES,
    patch: PATCH,
    truncated: name === 'long',
  }),
  pull: async () => ({ merged: true, commit: 'beef', files: FILES }),
  discard: async () => SNAPSHOT,
  snapshots: async () => [SNAPSHOT],
  restore: async ({ name }) => ({ worktree: `/trees/${name}`, branch: `reveille/${name}` }),
  bringHome: async ({ name }): Promise<Pulled> =>
    name === 'clash'
      ? { merged: false, conflicts: [{ path: 'src/a.ts', why: 'both changed it' }] }
      : { merged: true, commit: 'beefbeefbeefbeef', files: FILES },
};

const PARTS: Parts = {
  agents: () => ({ names: () => ['agent'] }),
  executors({ clock, connect }) {
    const scripted = scriptedExecutor({ clock, connect });
    return { backends: () => ['scripted'], get: (name) => (name === 'scripted' ? scripted : undefined) };
  },
  workspaces: () => paper,
};

describe('what was made', () => {
  let house: House;
  let daemon: Daemon;
  beforeAll(async () => {
    house = new House();
    const place = placeOf(house.env);
    openPlace(place);
    const { config } = loadConfig({ env: {} });
    const log = openLog({ path: place.log, ...config.logs });
    daemon = await startDaemon({ place, config, log, parts: PARTS });
    const report = { steps: [{ do: 'report' as const }] };
    house.plan('Made', { long: report, clash: report, idle: report });
    expect((await house.run(['plan', 'run', 'Made.yaml'])).code).toBe(0);
    house.plan('Open', { open: { steps: [{ do: 'silent' }] } });
    expect((await house.run(['plan', 'run', 'Open.yaml', '-d'])).code).toBe(0);
  });
  afterAll(async () => {
    await house.run(['stop', '--all']);
    await daemon.stop('the tests are over');
    await house[Symbol.asyncDispose]();
  });

  test('[CLI1.36] diff is a patch where it is piped, a count on request, and says when there is more', async () => {
    expect(await house.run(['diff', 'clash'])).toEqual({ code: 0, out: PATCH, err: '' });
    expect((await house.run(['diff', 'clash', '--stat'])).out).toBe(
      '  src/a.ts  +3 -1\n  b.md  +0 -7\n2 files, +3 -8\n',
    );
    expect((await house.run(['diff', 'idle'])).out).toBe('Nothing was changed.\n');
    expect((await house.run(['diff', 'long'])).err).toBe(
      'This is not all of it: the whole is on branch reveille/long.\n',
    );
    expect(await house.json('diff', 'Made/clash')).toMatchObject({
      branch: 'reveille/clash',
      files: FILES,
      patch: PATCH,
    });
  });

  test('[CLI1.36] open says where it is, also while it runs, and starts a program there', async () => {
    expect((await house.run(['open', 'long'])).out).toBe('/trees/long\n');
    expect(await house.json('open', 'open')).toMatchObject({
      worktree: '/trees/open',
      branch: 'reveille/open',
    });
    expect((await house.run(['open', 'long', '--with', 'true'])).code).toBe(0);
    expect((await house.run(['open', 'long', '--with', 'false'])).code).toBe(1);
    const none = await house.run(['open', 'long', '--with', 'no-such-program-here']);
    expect(none.code).toBe(3);
    expect(none.err).toMatch(/^"no-such-program-here" cannot be started /);
  });

  test('[CLI1.36] open --take-over pauses its worker first, and resume gives it back', async () => {
    const taken = await house.run(['open', 'Open/open', '--take-over']);
    expect(taken).toMatchObject({ code: 0, out: '/trees/open\n' });
    expect(taken.err).toMatch(/The worktree is yours\. `reveille resume task_\w+` gives it back\.\n$/);
    expect((await house.run(['resume', 'Open/open'])).out).toBe('open goes on.\n');
    expect((await house.run(['open', 'long', '--take-over'])).code).toBe(5);
  });

  test('[CLI1.36] integrate merges, or names what conflicts; pull is not for people', async () => {
    expect((await house.run(['integrate', 'long'])).out).toBe(
      'Merged as beefbeefbeef.\n  src/a.ts  +3 -1\n  b.md  +0 -7\n2 files, +3 -8\n',
    );
    expect(await house.run(['integrate', 'clash'])).toEqual({
      code: 5,
      out: 'It conflicts with your checkout in 1 file; nothing was changed.\n  src/a.ts: both changed it\n',
      err: '',
    });
    expect((await house.run(['integrate', 'open'])).code).toBe(5);
    const plan = await house.run(['integrate', 'Made']);
    expect(plan.code).toBe(5);
    expect(plan.err).toMatch(/^Plan plan_\w+ has no integration/);
    expect((await house.run(['pull', 'long'])).code).toBe(4);
  });

  test('[CLI1.36] a worktree is discarded and restored from its snapshot', async () => {
    expect((await house.run(['discard', 'long'])).out).toMatch(
      /^Discarded\. Everything is in refs\/reveille\/snapshots\/1; `reveille restore task_\w+` brings it back\.\n$/,
    );
    expect((await house.run(['discard', 'open'])).code).toBe(5);
    expect(await house.json('restore', 'long', '--list')).toEqual({ snapshots: [SNAPSHOT] });
    expect((await house.run(['restore', 'long'])).out).toBe('/trees/long (reveille/long)\n');
    expect(await house.json('restore', 'long', SNAPSHOT.ref)).toEqual({
      worktree: '/trees/long',
      branch: 'reveille/long',
    });
  });
});
