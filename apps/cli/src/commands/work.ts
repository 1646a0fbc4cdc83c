import { spawn as startProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReveilleError, type Client, type FileChange, type Pulled, type TaskView } from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findEither, findTask, viewpointOf } from '../find.ts';
import { paintOf, print, printJson, reach } from '../reach.ts';
import { INTEGRATE_OPTIONS, publish } from './publishing.ts';
import { say } from '../say.ts';
import { harmless, oneLine } from '../view/columns.ts';
import { plural } from '../view/words.ts';

const GROUP = 'What was made';

const diff = command({
  name: 'diff',
  group: GROUP,
  summary: 'shows what a task has changed, as of now',
  usage: '<task>',
  about: 'Piped, it is a patch that git can apply.',
  options: { stat: { type: 'boolean', means: 'only which files, and how much' } },
  json: '{ branch, worktree, start, files: [{ path, insertions, deletions }], patch, truncated }',
  async run(call) {
    const client = await reach(call);
    const { task } = await findTask(client, call.args[0] ?? '', await viewpointOf(call));
    const changes = await client.diffTask(task.id);
    const { out } = call.io;
    if (call.options.json) return printJson(call, changes);
    if (call.options.stat || changes.files.length === 0)
      for (const line of fileLines(changes.files)) say(out, line);
    else out.write(out.isTTY ? harmless(changes.patch) : changes.patch);
    if (changes.truncated)
      call.io.err.write(`This is not all of it: the whole is on branch ${changes.branch}.\n`);
  },
});

function fileLines(files: readonly FileChange[]): string[] {
  if (files.length === 0) return ['Nothing was changed.'];
  const all = files.reduce(
    (sum, file) => ({ plus: sum.plus + file.insertions, minus: sum.minus + file.deletions }),
    { plus: 0, minus: 0 },
  );
  return [
    ...files.map(({ path, insertions, deletions }) => `  ${path}  +${insertions} -${deletions}`),
    `${plural(files.length, 'file')}, +${all.plus} -${all.minus}`,
  ];
}

const open = command({
  name: 'open',
  group: GROUP,
  summary: 'says where the worktree of a task is, or opens it',
  usage: '<task>',
  about: 'cd "$(reveille open <task>)" goes there.',
  options: {
    with: { type: 'string', value: 'PROGRAM', means: 'start this program with the folder, such as code' },
    'take-over': {
      type: 'boolean',
      means: 'pause its worker first, so that you can work there; `reveille resume` gives it back',
    },
  },
  json: '{ task, worktree, branch }',
  async run(call) {
    const client = await reach(call);
    const view = await findTask(client, call.args[0] ?? '', await viewpointOf(call));
    const takes = call.options['take-over'];
    const { worktree, branch } = takes ? await takeOver(call, client, view) : await workOf(client, view);
    print(call, { task: view.task.id, worktree, branch }, () => [worktree]);
    return call.options.with === undefined ? 0 : start(call.options.with, worktree);
  },
});

/** What its end says; while it runs, what its checkout says. */
async function workOf(
  client: Client,
  { task, end }: TaskView,
): Promise<{ worktree: string; branch: string }> {
  return end?.work ?? client.diffTask(task.id);
}

const TAKE_OVER_EVERY_MS = 100;

/** Its turn is stopped first, which takes as long as its agent's last call. */
async function takeOver(
  { io, options }: Call,
  client: Client,
  { task }: TaskView,
): Promise<{ worktree: string; branch: string }> {
  for (let told = false; ; told = true) {
    const taken = await client.takeOver(task.id);
    if (taken.ready) {
      if (!options['json'])
        io.err.write(`The worktree is yours. \`reveille resume ${task.id}\` gives it back.\n`);
      return taken;
    }
    if (!told && !options['json']) io.err.write(`Waiting until ${oneLine(task.name)} has stopped …\n`);
    await sleep(TAKE_OVER_EVERY_MS);
  }
}

function start(program: string, folder: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = startProcess(program, [folder], { stdio: 'inherit' });
    child.once('exit', (code) => resolve(code ?? 1));
    child.once('error', (cause) =>
      reject(new ReveilleError('not_found', `"${program}" cannot be started (${cause.message}).`, { cause })),
    );
  });
}

const pull = command({
  name: 'pull',
  group: GROUP,
  summary: 'is what agents do; for you it is integrate',
  usage: '<task>',
  about:
    'An agent pulls the work of its subtasks into its own worktree. To get work into your checkout: reveille integrate.',
  options: {},
  json: '{ error }',
  async run({ args: [task = ''] }) {
    throw new ReveilleError(
      'not_allowed',
      `Only an agent pulls, from its subtasks into its own worktree. \`reveille integrate ${task}\` merges the work into your checkout.`,
    );
  },
});

const discard = command({
  name: 'discard',
  group: GROUP,
  summary: 'takes the worktree of an ended task away; a snapshot is kept',
  usage: '<task>',
  about: '',
  options: {},
  json: '{ snapshot: { ref, commit, why, at } }',
  async run(call) {
    const client = await reach(call);
    const { task } = await findTask(client, call.args[0] ?? '', await viewpointOf(call));
    const snapshot = await client.discardTask(task.id);
    print(call, { snapshot }, () => [
      `Discarded. Everything is in ${snapshot.ref}; \`reveille restore ${task.id}\` brings it back.`,
    ]);
  },
});

const restore = command({
  name: 'restore',
  group: GROUP,
  summary: 'makes the worktree of an ended task anew, as a snapshot has it',
  usage: '<task> [snapshot]',
  about: 'Without a snapshot, the newest.',
  options: { list: { type: 'boolean', means: 'only say which snapshots there are' } },
  json: '{ worktree, branch }, or { snapshots } with --list.',
  async run(call) {
    const [name = '', snapshot] = call.args;
    const client = await reach(call);
    const { task } = await findTask(client, name, await viewpointOf(call));
    if (call.options.list) {
      const snapshots = await client.snapshots(task.id);
      const lines = snapshots.map(
        ({ ref, why, at }) => `${new Date(at).toISOString().slice(0, 19)}  ${ref}  ${why}`,
      );
      return print(call, { snapshots }, () => (lines.length > 0 ? lines : ['There is no snapshot.']));
    }
    const restored = await client.restoreTask(task.id, ...(snapshot === undefined ? [] : [snapshot]));
    print(call, restored, () => [`${restored.worktree} (${restored.branch})`]);
  },
});

const integrate = command({
  name: 'integrate',
  group: GROUP,
  summary: 'merges the branch of a plan, or of a task, into your checkout, or pushes it',
  usage: '<plan|task>',
  about: `Only on request, and only into a checkout without uncommitted changes. A conflict is told by file, and then nothing
was changed (exit code 5). With --push or --pr your checkout stays as it is.`,
  options: INTEGRATE_OPTIONS,
  json: '{ merged: true, commit, files }, { merged: false, conflicts: [{ path, why }] } or { pushed: { remote, branch }, request }',
  async run(call) {
    const client = await reach(call);
    const { plan, task } = await findEither(client, call.args[0] ?? '', await viewpointOf(call));
    const { push: pushes, pr } = call.options;
    if (pushes || pr) return publish(call, client, plan ?? task);
    const home = await client.bringHome(plan ? plan.id : task.task.id);
    const paint = paintOf(call);
    print(call, home, () =>
      pulledLines(home).map((text, i) => (i === 0 ? paint(home.merged ? 'green' : 'red', text) : text)),
    );
    return home.merged ? 0 : 5;
  },
});

function pulledLines(pulled: Pulled): string[] {
  if (pulled.merged) return [`Merged as ${pulled.commit.slice(0, 12)}.`, ...fileLines(pulled.files)];
  const { conflicts } = pulled;
  return [
    `It conflicts with your checkout in ${plural(conflicts.length, 'file')}; nothing was changed.`,
    ...conflicts.map(({ path, why }) => `  ${path}: ${why}`),
  ];
}

export const workCommands = [diff, open, pull, discard, restore, integrate];
