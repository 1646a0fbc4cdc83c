import type { FileChange, Pulled } from '@reveille/protocol';
import { z } from 'zod';
import { fence, quote } from '../fence.ts';
import { taskId } from '../schema.ts';
import { ACTS, DESTROYS, LOOKS, SETS, defineTool, type ToolOutput } from '../tool.ts';

const Change = z.object({ path: z.string(), insertions: z.number(), deletions: z.number() });

const filesText = (files: readonly FileChange[]): string =>
  files.length === 0
    ? 'No files changed.'
    : files
        .map(({ path, insertions, deletions }) => `  ${quote(path, 400)} +${insertions} −${deletions}`)
        .join('\n');

export const subtaskDiff = defineTool({
  name: 'a2a_subtask_diff',
  title: 'See what a subtask changed',
  description: [
    'Shows which files a subtask changed, how much, and the patch, as of now; also while it is still running. Look at it before you pull.',
  ],
  input: z.strictObject({
    taskId: taskId(''),
    patch: z.boolean().default(true).describe('false: only the list of files.'),
  }),
  output: z.object({
    branch: z.string(),
    worktree: z.string(),
    files: z.array(Change),
    patch: z.string().nullable(),
    truncated: z.boolean(),
  }),
  annotations: LOOKS,
  async run({ taskId: id, patch: wanted }, { orchestrator }) {
    const { branch, worktree, files, patch, truncated } = await orchestrator.diffTask(id);
    const cut = truncated
      ? '\nThe patch is longer than this; read the files on the branch for the rest.'
      : '';
    // The patch is the agent's own words, whatever they say.
    const fenced = wanted && patch !== '' ? fence(id, patch) : null;
    const lines = [
      `Branch ${branch}, worktree ${worktree}:`,
      filesText(files),
      ...(fenced ? [`${fenced}${cut}`] : []),
    ];
    return {
      structured: { branch, worktree, files: [...files], patch: fenced, truncated },
      text: lines.join('\n'),
    };
  },
});

export const pullSubtaskChanges = defineTool({
  name: 'a2a_pull_subtask_changes',
  title: 'Take over what a subtask changed',
  description: [
    'Merges the branch of a subtask into your own checkout. If something conflicts, nothing is changed and you are told where; then make the change by hand or let an agent resolve it.',
    'Look at a2a_subtask_diff first: what you take over is yours. In a chat it goes into the person’s own checkout, which must be clean.',
  ],
  input: z.strictObject({
    taskId: taskId(''),
    cleanup: z
      .boolean()
      .default(false)
      .describe('true: once it is merged, discard its worktree (a snapshot is kept).'),
  }),
  output: z.object({
    merged: z.boolean(),
    commit: z.string().nullable(),
    files: z.array(Change),
    conflicts: z.array(z.object({ path: z.string(), why: z.string() })),
    snapshot: z.string().nullable(),
  }),
  annotations: ACTS,
  async run({ taskId: id, cleanup }, { orchestrator, caller }) {
    const pulled =
      caller.kind === 'worker' ? await orchestrator.pullSubtask(id) : await orchestrator.bringHome(id);
    if (!pulled.merged || !cleanup) return pulledOutput(pulled, null);
    return pulledOutput(pulled, (await orchestrator.discardTask(id)).ref);
  },
});

type PulledOutput = ToolOutput<{
  merged: boolean;
  commit: string | null;
  files: FileChange[];
  conflicts: { path: string; why: string }[];
  snapshot: string | null;
}>;

function pulledOutput(pulled: Pulled, snapshot: string | null): PulledOutput {
  if (pulled.merged) {
    const { commit, files } = pulled;
    const gone = snapshot === null ? [] : [`Its worktree is gone; a snapshot is kept as ${snapshot}.`];
    const text = [`Merged as ${commit}:`, filesText(files), ...gone].join('\n');
    return { structured: { merged: true, commit, files: [...files], conflicts: [], snapshot }, text };
  }
  const conflicts = pulled.conflicts.map(({ path, why }) => ({ path, why }));
  const lines = conflicts.map(({ path, why }) => `  ${quote(path, 400)}: ${quote(why)}`);
  const text = ['Not merged, nothing was changed. It conflicts with yours in:', ...lines].join('\n');
  return { structured: { merged: false, commit: null, files: [], conflicts, snapshot }, text, refused: true };
}

export const discardSubtask = defineTool({
  name: 'a2a_discard_subtask',
  title: 'Discard what a subtask made',
  description: [
    'Takes away the worktree of a subtask that has ended, when you do not want its changes or have them already. A snapshot is kept.',
  ],
  input: z.strictObject({ taskId: taskId('The subtask; it must have ended.') }),
  output: z.object({ taskId: z.string(), snapshot: z.string(), commit: z.string() }),
  annotations: { ...SETS, destructive: DESTROYS.destructive },
  async run({ taskId: id }, { orchestrator }) {
    const { ref, commit } = await orchestrator.discardTask(id);
    return {
      structured: { taskId: id, snapshot: ref, commit },
      text: `Discarded. A snapshot is kept as ${ref}.`,
    };
  },
});
