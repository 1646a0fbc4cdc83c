import type { Conflict, Message, Orchestrator, PlanView, Task, TaskId, TaskView } from '@reveille/protocol';

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
  /** Why what a resolver made of the branch and this commit does not count, in words; null: it does. */
  refusal(made: string, commit: string): Promise<string | null>;
  /** What these tasks began from and the branch did not, in words; null: it began from the same. */
  droppedBase(tasks: readonly TaskId[]): Promise<string | null>;
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
  // What a check left there goes, so that the files are those of the branch; they are compared when they are laid.
  await bench.lay(null);
  return await reportMerged(integration, view, { merged, leftOut });
}

interface Parts {
  readonly merged: readonly string[];
  readonly leftOut: readonly string[];
}

async function reportMerged(
  { task, calls, bench }: Integration,
  view: PlanView,
  { merged, leftOut }: Parts,
): Promise<Outcome> {
  const first = inOrder(view, task).filter((part) => part.task.dependencies.length === 0);
  const dropped = await bench.droppedBase(first.map((part) => part.task.id));
  const all = merged.length === 0 ? 'There was nothing to merge.' : `Merged: ${merged.join(', ')}.`;
  const sum = dropped === null ? all : `${all} ${dropped}`;
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
    // A resolver starts from the files as they lie: what the check of the step before wrote is not for it to commit.
    await bench.lay(null);
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
  let refused = '';
  if (chosen ? chosen === choices.resolve.id : onConflict === 'resolve') {
    const asked = mail.filter(({ kind, text }) => kind === 'answer' && text === choices.resolve.id).length;
    const times = asked + (onConflict === 'resolve' ? 1 : 0);
    const resolved = await resolve(integration, { part, commit, told, verify, tries: times * TRIES });
    if (typeof resolved === 'string') return resolved;
    refused = `\nThe resolver's work does not count: ${resolved.refused}.`;
  }
  const key = `${part.id}:${commit}:${mail.filter(({ kind }) => kind === 'answer').length}`;
  const message = `${told}${refused}\nThe branch of the plan is as it was before this step.`;
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

/** How often a resolver is asked before the owner is asked again: the second time it is told what was missing. */
const TRIES = 2;

interface ToResolve {
  readonly part: Task;
  readonly commit: string;
  /** What stands in the way, in words. */
  readonly told: string;
  readonly verify: string | null;
  /** How many resolvers there may be in all. */
  readonly tries: number;
}

/** A child that starts from what is merged so far, and makes the two go together. What it made is judged, not believed. */
async function resolve(
  integration: Integration,
  wanted: ToResolve,
): Promise<'waits' | 'resolved' | { readonly refused: string }> {
  const { task, calls } = integration;
  const key = `resolve:${wanted.part.id}:${wanted.commit}`;
  const children = await calls.listTasks({ owner: task.session });
  const keyOf = (n: number): string => (n === 0 ? key : `${key}:${n + 1}`);
  let refused: string | null = null;
  for (let n = 0; n < wanted.tries; n += 1) {
    const child = children.find((view) => view.task.key === keyOf(n));
    if (!child) {
      await askResolver(integration, wanted, { key: keyOf(n), refused });
      return 'waits';
    }
    if (!['completed', 'failed', 'cancelled'].includes(child.task.state)) return 'waits';
    // An earlier one was judged when it ended; only the last one can be new.
    const isLast = n + 1 === wanted.tries || !children.some((view) => view.task.key === keyOf(n + 1));
    if (isLast) refused = await takeResolution(integration, child, wanted);
    if (isLast && refused === null) return 'resolved';
  }
  return { refused: refused ?? 'nothing came of it' };
}

async function askResolver(
  { calls }: Integration,
  { part, commit, told, verify }: ToResolve,
  { key, refused }: { readonly key: string; readonly refused: string | null },
): Promise<void> {
  const prompt = [
    `Merge the commit ${commit} (the work of the task "${part.name}") into your branch and commit the merge.`,
    `What stands in the way: ${told}`,
    ...(verify === null ? [] : [`Afterwards this must pass: ${verify}`]),
    'Keep what both sides meant to do. Change nothing else: every file that git merges by itself must stay as git merges it.',
    'Report success only when the merge is committed.',
    ...(refused === null ? [] : [`Somebody tried before you, and it does not count: ${refused}.`]),
  ].join('\n');
  await calls.spawnSubtask({ prompt, name: `resolve ${part.name}`.slice(0, 200), key }, { blocking: false });
}

/** Takes what a resolver made into the branch; null: it is there. Otherwise why it does not count, for whoever is next. */
async function takeResolution(
  integration: Integration,
  { task, end }: TaskView,
  { commit, verify }: ToResolve,
): Promise<string | null> {
  const { bench } = integration;
  const made = end?.work?.commit;
  if (task.state !== 'completed' || end?.status !== 'success')
    return `"${task.name}" ended as ${end?.status ?? task.state}, not with success`;
  if (!made) return `"${task.name}" made no commit`;
  const refusal = await bench.refusal(made, commit);
  if (refusal !== null) return refusal;
  const trouble = await step(integration, task, made, verify);
  return trouble && `it ${trouble.why}: ${trouble.details.slice(-2_000)}`;
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
