import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from '@reveille/executors';
import {
  isReveilleError,
  type Orchestrator,
  type PlanId,
  type TaskId,
  type TaskView,
} from '@reveille/protocol';
import { gitIn, savePlan, SHELL, write, type Part } from '../../shop.ts';

/** Who acts, and where. */
export interface Stage {
  readonly person: Orchestrator;
  /** The person's repository. */
  readonly root: string;
}

/** One operation that is killed. Every step is made in a process of its own, on what the one before left. */
export interface Scene {
  /** Everything before the operation. */
  prepare(stage: Stage): Promise<void>;
  act(stage: Stage): Promise<void>;
  /** The same, by somebody who does not know how far it got. Answers with what is wrong then. */
  again(stage: Stage): Promise<readonly string[]>;
}

const WAIT_MS = 60_000;

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`this never came true: ${String(holds)}`);
    await sleep(10);
  }
}

const shell = (script: string): Step => ({ do: 'edit', path: SHELL, content: script });
const edit = (path: string): Step => ({ do: 'edit', path, content: `${path}\n` });
const REPORT: Step = { do: 'report', output: 'Done.' };
const question = (text: string): Step => ({ do: 'ask', text, options: ['go on'] });

async function planOf({ person }: Pick<Stage, 'person'>): Promise<PlanId> {
  const [plan] = await person.listPlans();
  if (!plan) throw new Error('there is no plan');
  return plan.id;
}

async function task(stage: Pick<Stage, 'person'>, name: string): Promise<TaskView> {
  const found = (await stage.person.listTasks({})).find((view) => view.task.name === name);
  if (!found) throw new Error(`there is no task ${name}`);
  return found;
}

/** Whoever begins anew may ask again. */
async function ended(stage: Pick<Stage, 'person'>): Promise<void> {
  const plan = await planOf(stage);
  await until(async () => {
    await answerAll(stage);
    return (await stage.person.getPlan(plan)).plan.state !== 'active';
  });
}

async function begin(
  { person, root }: Stage,
  parts: Record<string, Part>,
  integrate = false,
): Promise<PlanId> {
  return await savePlan(person, root, parts, { integrate });
}

/** Answers what is asked, if it is still asked. */
async function answerAll({ person }: Pick<Stage, 'person'>): Promise<void> {
  for (const { id } of await person.inbox()) {
    await person.answer({ request: id, answer: 'go on' }).catch((error: unknown) => {
      if (!isReveilleError(error)) throw error;
    });
  }
}

/** What is wrong with the files of a commit or of a folder: `null` is a file that must not be there. */
function wrongFiles(
  where: string,
  wanted: Readonly<Record<string, string | null>>,
  read: (path: string) => string | null,
): string[] {
  return Object.entries(wanted).flatMap(([path, text]) => {
    const found = read(path);
    return found === text
      ? []
      : [`${path} in ${where} is ${JSON.stringify(found)}, not ${JSON.stringify(text)}`];
  });
}

const inCommit = (root: string, commit: string, wanted: Readonly<Record<string, string | null>>): string[] =>
  wrongFiles(commit, wanted, (path) => {
    try {
      return `${gitIn(root)('show', `${commit}:${path}`)}\n`;
    } catch {
      return null;
    }
  });

const inFolder = (folder: string, wanted: Readonly<Record<string, string | null>>): string[] =>
  wrongFiles(folder, wanted, (path) =>
    existsSync(join(folder, path)) ? execFileSync('cat', [join(folder, path)], { encoding: 'utf8' }) : null,
  );

async function branchOf(stage: Pick<Stage, 'person'>, name: string): Promise<string> {
  return (await task(stage, name)).end?.work?.branch ?? 'none';
}

/** Once, also if its agent begins anew. Adds, changes, deletes, renames; a mode, a link, a folder in place of a file, a file that is ignored. */
const MANY = `
  if [ -e later.txt ]; then exit 0; fi
  printf '%s\\n' one TWO three > src/a.txt; git rm -q old/0.txt; git mv old/1.txt moved.txt
  printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; ln -s src/a.txt link; rm old/2.txt; mkdir old/2.txt; echo in > old/2.txt/in
  mkdir -p new; for i in 1 2 3 4 5 6; do echo $i > new/$i.txt; done; echo kept > kept.log; git add -f kept.log; git add -A; git commit -qm many
  echo later > later.txt`;
const HAS_MANY = {
  'src/a.txt': 'one\nTWO\nthree\n',
  'old/0.txt': null,
  'old/1.txt': null,
  'moved.txt': '1\n',
  'old/2.txt/in': 'in\n',
  'new/6.txt': '6\n',
  'kept.log': 'kept\n',
  'later.txt': 'later\n',
};
const many = (...more: Step[]): Part => ({ script: { steps: [shell(MANY), ...more, REPORT] } });

const integration: Scene = {
  async prepare(stage) {
    const { person } = stage;
    const other: Part = { script: { steps: [edit('other.txt'), question('May I end?'), REPORT] } };
    const plan = await begin(stage, { many: many(), other }, true);
    await until(async () => (await task(stage, 'many')).end !== null && (await person.inbox()).length === 1);
    await person.pausePlan(plan);
    await answerAll(stage);
    await until(async () => (await task(stage, 'other')).end !== null);
  },
  async act(stage) {
    await stage.person.resumePlan(await planOf(stage));
    await ended(stage);
  },
  async again(stage) {
    const plan = await planOf(stage);
    if ((await stage.person.getPlan(plan)).plan.state === 'paused') await stage.person.resumePlan(plan);
    await ended(stage);
    const wanted = { ...HAS_MANY, 'other.txt': 'other.txt\n' };
    return inCommit(stage.root, await branchOf(stage, 'integration'), wanted);
  },
};

const pull: Scene = {
  async prepare(stage) {
    const child = { name: 'child', prompt: 'child', script: { steps: [shell(MANY), REPORT] } };
    const steps: Step[] = [
      edit('own.txt'),
      { do: 'delegate', task: child },
      question('May I pull?'),
      { do: 'pull' },
      edit('after.txt'),
      REPORT,
    ];
    await begin(stage, { parent: { script: { steps } } });
    await until(async () => (await stage.person.inbox()).length === 1);
  },
  act: ended,
  async again(stage) {
    await ended(stage);
    const branch = await branchOf(stage, 'parent');
    return inCommit(stage.root, branch, { ...HAS_MANY, 'own.txt': 'own.txt\n', 'after.txt': 'after.txt\n' });
  },
};

const UNCOMMITTED = { 'src/b.txt': 'mine\n', 'mine/new.txt': 'new\n' };

/** A task that has ended, with changes that nobody has committed. */
async function endedTask(stage: Stage): Promise<TaskId> {
  await begin(stage, { many: many() });
  await ended(stage);
  const view = await task(stage, 'many');
  write(view.end?.work?.worktree ?? '', UNCOMMITTED);
  return view.task.id;
}

const idOf = async (stage: Stage): Promise<TaskId> => (await task(stage, 'many')).task.id;
const worktreeOf = async (stage: Stage): Promise<string> =>
  (await task(stage, 'many')).end?.work?.worktree ?? '';

const discard: Scene = {
  async prepare(stage) {
    await endedTask(stage);
  },
  async act(stage) {
    await stage.person.discardTask(await idOf(stage));
  },
  async again(stage) {
    const id = await idOf(stage);
    const worktree = await worktreeOf(stage);
    const before = existsSync(worktree) ? inFolder(worktree, { ...HAS_MANY, ...UNCOMMITTED }) : [];
    await stage.person.discardTask(id).catch((error: unknown) => {
      // Done already.
      if (!isReveilleError(error) || existsSync(worktree)) throw error;
    });
    const last = (await stage.person.snapshots(id)).at(-1)?.ref ?? 'none';
    const left = existsSync(worktree) ? [`${worktree} is still there`] : [];
    return [...before, ...left, ...inCommit(stage.root, last, { ...HAS_MANY, ...UNCOMMITTED })];
  },
};

const restore: Scene = {
  async prepare(stage) {
    await stage.person.discardTask(await endedTask(stage));
  },
  async act(stage) {
    await stage.person.restoreTask(await idOf(stage));
  },
  async again(stage) {
    const { worktree } = await stage.person.restoreTask(await idOf(stage));
    return inFolder(worktree, { ...HAS_MANY, ...UNCOMMITTED });
  },
};

const LATER = { 'src/b.txt': 'later\n', 'mine/new.txt': null, 'mine/second.txt': 'second\n' };

const restoreOver: Scene = {
  async prepare(stage) {
    const id = await endedTask(stage);
    await stage.person.discardTask(id);
    const { worktree } = await stage.person.restoreTask(id);
    execFileSync('rm', [join(worktree, 'mine/new.txt')]);
    write(worktree, { 'src/b.txt': 'later\n', 'mine/second.txt': 'second\n' });
  },
  async act(stage) {
    const id = await idOf(stage);
    await stage.person.restoreTask(id, (await stage.person.snapshots(id))[0]?.ref);
  },
  async again(stage) {
    const id = await idOf(stage);
    const { worktree } = await stage.person.restoreTask(id, (await stage.person.snapshots(id))[0]?.ref);
    // What was there before is in one of the snapshots.
    const all = await stage.person.snapshots(id);
    const kept = all.some(({ ref }) => inCommit(stage.root, ref, LATER).length === 0);
    const lost = kept ? [] : ['what was there before the restore is in no snapshot'];
    return [...lost, ...inFolder(worktree, { ...HAS_MANY, ...UNCOMMITTED, 'mine/second.txt': null })];
  },
};

const retryFrom: Scene = {
  async prepare(stage) {
    const steps: Step[] = [
      { do: 'edit', path: SHELL, content: MANY, attempt: 1 },
      { do: 'report', status: 'failed', output: 'no', attempt: 1 },
      { do: 'edit', path: 'second.txt', content: 'second\n', attempt: 2 },
      { do: 'report', output: 'yes', attempt: 2 },
    ];
    await begin(stage, { many: { script: { steps } } });
    await ended(stage);
    await stage.person.discardTask(await idOf(stage));
  },
  async act(stage) {
    await stage.person.retryTask(await idOf(stage), { from: 'last' });
    await ended(stage);
  },
  async again(stage) {
    const { task: found } = await task(stage, 'many');
    if (found.state === 'failed') await stage.person.retryTask(found.id, { from: 'last' });
    await ended(stage);
    return inCommit(stage.root, await branchOf(stage, 'many'), { ...HAS_MANY, 'second.txt': 'second\n' });
  },
};

const takeOver: Scene = {
  async prepare(stage) {
    await begin(stage, { many: many(question('May I end?')) });
    await until(async () => (await stage.person.inbox()).length === 1);
  },
  async act(stage) {
    const id = await idOf(stage);
    await until(async () => (await stage.person.takeOver(id)).ready);
    const taken = await stage.person.takeOver(id);
    write(taken.ready ? taken.worktree : '', UNCOMMITTED);
    await stage.person.resumeWorker(id);
    await ended(stage);
  },
  async again(stage) {
    const id = await idOf(stage);
    const { end } = await task(stage, 'many');
    if (end === null) {
      await until(
        async () =>
          (await stage.person.takeOver(id).catch(() => ({ ready: false }))).ready ||
          (await task(stage, 'many')).end !== null,
      );
      const taken = await stage.person.takeOver(id).catch(() => null);
      if (taken?.ready) {
        write(taken.worktree, UNCOMMITTED);
        await stage.person.resumeWorker(id);
      }
    }
    await ended(stage);
    return inCommit(stage.root, await branchOf(stage, 'many'), { ...HAS_MANY, ...UNCOMMITTED });
  },
};

const bringHome: Scene = {
  async prepare(stage) {
    await begin(stage, { many: many() }, true);
    await ended(stage);
  },
  async act(stage) {
    await stage.person.bringHome(await planOf(stage));
  },
  async again(stage) {
    const done = await stage.person.bringHome(await planOf(stage));
    const refused = done.merged ? [] : [`it was not merged: ${JSON.stringify(done)}`];
    return [...refused, ...inFolder(stage.root, HAS_MANY), ...inCommit(stage.root, 'HEAD', HAS_MANY)];
  },
};

export const SCENES: ReadonlyMap<string, Scene> = new Map([
  ['integration', integration],
  ['pull', pull],
  ['discard', discard],
  ['restore', restore],
  ['restore-over', restoreOver],
  ['retry-from', retryFrom],
  ['take-over', takeOver],
  ['bring-home', bringHome],
]);
