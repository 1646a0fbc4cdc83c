import type { Conflict, Message, Orchestrator, PlanView, Task, TaskView } from '@reveille/protocol';

/** What the integrator does to its checkout. The branch only ever moves to what was merged and checked. */
export interface Bench {
  /** Whether the branch has all of it. */
  holds(commit: string): Promise<boolean>;
  /** The branch with this merged into it, as a commit that is nowhere yet. */
  merge(commit: string, message: string): Promise<Merged>;
  /** Puts the files of a commit into the tree; null: those of the branch. */
  lay(commit: string | null): Promise<void>;
  /** Runs the command on what lies in the tree. */
  verify(command: string): Promise<Verdict>;
  /** The branch as it is, with the history of this commit joined to it. */
  join(commit: string, message: string): Promise<string>;
  /** Moves the branch. */
  accept(commit: string): Promise<void>;
}
export type Merged =
  | { readonly commit: string; readonly conflicts?: never }
  | { readonly conflicts: readonly Conflict[]; readonly commit?: never };
export interface Verdict {
  readonly passed: boolean;
  /** The end of what it printed. */
  readonly output: string;
}

export interface Integration {
  readonly task: Task;
  readonly calls: Orchestrator;
  readonly bench: Bench;
  readonly say: (text: string) => void;
  /** What becomes of a step that does not go well, unless somebody has said: a resolver is tried first, or the owner asked. */
  readonly onConflict: 'resolve' | 'ask';
}

/** `waits`: somebody has to answer, or a resolver to end, before it can go on. */
export type Outcome = 'reported' | 'waits';

interface Trouble {
  readonly why: string;
  readonly details: string;
}

/**
 * Merges the branches of a plan in the order of their dependencies, one step at a time, each checked before the branch
 * moves. It keeps nothing in memory: what is merged is in the branch, what was asked and answered is in its mailbox,
 * what is being resolved is a child of its. So it can be called again after any crash, and after every wake-up.
 */
export async function integrate(integration: Integration): Promise<Outcome> {
  const { task, calls, bench, say } = integration;
  if (!task.plan) return fail(calls, 'An integration belongs to a plan.');
  const view = await calls.getPlan(task.plan);
  const mail = await calls.mailbox(task.session);
  await bench.lay(null);
  const leftOut: string[] = [];
  const merged: string[] = [];
  for (const { task: part, end } of inOrder(view, task)) {
    const commit = end?.work?.commit;
    if (!commit) continue;
    if (!(await bench.holds(commit))) {
      const trouble = await step(integration, part, commit, view.plan.verify);
      if (trouble) {
        const next = await follow({ ...integration, mail }, part, commit, trouble, view.plan.verify);
        if (next === 'waits' || next === 'reported') return next;
        if (next === 'left out') {
          leftOut.push(part.name);
          continue;
        }
      }
      say(`merged "${part.name}"`);
    }
    merged.push(part.name);
  }
  const sum = merged.length === 0 ? 'There was nothing to merge.' : `Merged: ${merged.join(', ')}.`;
  if (leftOut.length > 0) return report(calls, 'partial', `${sum} Left out: ${leftOut.join(', ')}.`);
  return report(calls, 'success', sum);
}

/** Merges one branch and checks the result; null: the branch has it now. What goes wrong leaves the branch as it was. */
async function step(
  { bench, say }: Integration,
  part: Task,
  commit: string,
  verify: string | null,
): Promise<Trouble | null> {
  const { commit: candidate, conflicts } = await bench.merge(commit, `Merge "${part.name}"`);
  if (candidate === undefined) {
    const files = conflicts.map(({ path, why }) => `${path} (${why})`).join(', ');
    return { why: 'conflicts with what is merged before it', details: files };
  }
  await bench.lay(candidate);
  if (verify !== null) {
    say(`checking "${part.name}" with: ${verify}`);
    const { passed, output } = await bench.verify(verify);
    if (!passed) {
      await bench.lay(null);
      return { why: `makes the check fail (${verify})`, details: output };
    }
  }
  await bench.accept(candidate);
  return null;
}

/** What becomes of a step that did not go well is the owner's choice; until it is made, the rest waits. */
async function follow(
  integration: Integration & { readonly mail: readonly Message[] },
  part: Task,
  commit: string,
  trouble: Trouble,
  verify: string | null,
): Promise<Outcome | 'left out' | 'resolved'> {
  const { calls, mail, onConflict } = integration;
  const choices = choicesFor(part, commit);
  const chosen = mail.findLast(
    ({ kind, text }) => kind === 'answer' && choices.all.some(({ id }) => id === text),
  )?.text;
  const told = `"${part.name}" (${part.id}) ${trouble.why}: ${trouble.details.slice(-4_000)}`;
  if (chosen === choices.leaveOut.id) return 'left out';
  if (chosen === choices.stop.id) return fail(calls, `Stopped: ${told}`);
  if (chosen ? chosen === choices.resolve.id : onConflict === 'resolve') {
    const resolved = await resolve(integration, part, commit, told, verify);
    if (resolved !== 'failed') return resolved;
  }
  const key = `${part.id}:${commit}:${mail.filter(({ kind }) => kind === 'answer').length}`;
  const message = `${told}\nThe branch of the plan is as it was before this step.`;
  await calls.notifyParent({ type: 'question', message, options: [...choices.all], key: key.slice(0, 200) });
  return 'waits';
}

/**
 * The ids name the task and its commit, because answers outlive this process and are found in the mailbox by their text: tasks may
 * have the same name, and the same task may conflict again with a later commit.
 */
function choicesFor({ id, name }: Task, commit: string) {
  const choice = (act: string, label: string) => ({ id: `${act}:${id}:${commit.slice(0, 12)}`, label });
  const resolve = choice('resolve', `have "${name}" resolved`.slice(0, 200));
  const leaveOut = choice('leave-out', `leave "${name}" out`.slice(0, 200));
  const stop = choice('stop', `stop at "${name}"`.slice(0, 200));
  return { resolve, leaveOut, stop, all: [resolve, leaveOut, stop] };
}

/** A child that starts from what is merged so far, and makes the two go together. */
async function resolve(
  integration: Integration,
  part: Task,
  commit: string,
  told: string,
  verify: string | null,
): Promise<Outcome | 'resolved' | 'failed'> {
  const { task, calls } = integration;
  const key = `resolve:${part.id}:${commit}`;
  const children = await calls.listTasks({ owner: task.session });
  const child = children.find((view) => view.task.key === key);
  if (!child) {
    const prompt = [
      `Merge the commit ${commit} (the work of the task "${part.name}") into your branch and commit the merge.`,
      `What stands in the way: ${told}`,
      ...(verify === null ? [] : [`Afterwards this must pass: ${verify}`]),
      'Keep what both sides meant to do. Change nothing else.',
    ].join('\n');
    await calls.spawnSubtask(
      { prompt, name: `resolve ${part.name}`.slice(0, 200), key },
      { blocking: false },
    );
    return 'waits';
  }
  if (!['completed', 'failed', 'cancelled'].includes(child.task.state)) return 'waits';
  return (await takeResolution(integration, child, commit, verify)) ? 'resolved' : 'failed';
}

/** What it made counts as the two together: it was asked for that, and it was checked. */
async function takeResolution(
  integration: Integration,
  child: TaskView,
  commit: string,
  verify: string | null,
): Promise<boolean> {
  const { bench } = integration;
  const made = child.end?.work?.commit;
  if (child.task.state !== 'completed' || !made) return false;
  if (!(await bench.holds(made)) && (await step(integration, child.task, made, verify))) return false;
  if (!(await bench.holds(commit))) await bench.accept(await bench.join(commit, `Join what was resolved`));
  return true;
}

/** Everything but integrations, dependencies first; what does not depend on each other in the order of its making. */
function inOrder({ tasks }: PlanView, integration: Task): TaskView[] {
  const parts = new Map(
    tasks
      .filter(({ task }) => task.agent.backend !== integration.agent.backend)
      .map((view) => [view.task.id, view] as const),
  );
  const ordered = new Set<TaskView>();
  const visit = (view: TaskView): void => {
    if (ordered.has(view)) return;
    for (const id of view.task.dependencies) {
      const needed = parts.get(id);
      if (needed) visit(needed);
    }
    ordered.add(view);
  };
  for (const view of parts.values()) visit(view);
  return [...ordered].filter(({ task }) => task.state === 'completed');
}

const fail = (calls: Orchestrator, why: string): Promise<Outcome> => report(calls, 'failed', why);

async function report(
  calls: Orchestrator,
  status: 'success' | 'partial' | 'failed',
  output: string,
): Promise<Outcome> {
  const result = await calls.reportCompletion({ status, output, giveUpChildren: true });
  // Ends it has not read: it was given them with this refusal, and looks at its children anyway.
  if (!result.accepted && result.code === 'unread_ends')
    await calls.reportCompletion({ status, output, giveUpChildren: true });
  return 'reported';
}
