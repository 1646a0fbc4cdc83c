import { NOTHING_FOUND, type Workspaces } from '@reveille/core';
import type { Task, WorkProduct } from '@reveille/protocol';

/** What a run left, with nothing wrong about it. */
export const product = (worktree: string, branch: string, files: WorkProduct['files']): WorkProduct => ({
  worktree,
  branch,
  commit: 'c0ffee',
  problem: null,
  files,
});

/** Checkouts that exist on paper; `work` says what a task leaves. */
export function paperCheckouts(work?: (task: Task) => WorkProduct | null): Workspaces {
  const unused = (): never => {
    throw new Error('no such checkout in this world');
  };
  return {
    open: async ({ task }) => ({
      path: `/trees/${task.id}`,
      branch: task.name,
      environment: {},
      notices: [],
    }),
    inspect: async () => ({ start: { snapshot: null }, files: [], count: 0 }),
    checkpoint: async (task) => `checkpoint of ${task.name}`,
    changedSince: async () => [{ path: 'by-hand.ts', insertions: 2, deletions: 1 }],
    look: async () => NOTHING_FOUND,
    collect: async (task) => ({ work: work?.(task) ?? null, findings: NOTHING_FOUND }),
    leave: async () => NOTHING_FOUND,
    diff: async ({ id, name }) => ({
      worktree: `/trees/${id}`,
      branch: name,
      start: 'base',
      files: [],
      patch: '',
      truncated: false,
    }),
    pull: unused,
    discard: unused,
    snapshots: unused,
    restore: unused,
    bringHome: unused,
  };
}
