import type { Tool } from './tool.ts';
import { listAgents, listSpecialists } from './tools/agents.ts';
import { runCommand, runTests } from './tools/commands.ts';
import { createFile, deleteFile, editFile, listDirectory, readFile } from './tools/files.ts';
import {
  documentOutline,
  exploreModule,
  findUsages,
  navigateToSymbol,
  typeOfSymbol,
} from './tools/navigation.ts';
import { addPlanTask, pausePlan, resumePlan, savePlan, startPlan } from './tools/plans.ts';
import { readMore } from './tools/read-more.ts';
import { notifyParent, subtaskComplete } from './tools/report.ts';
import { searchText } from './tools/search.ts';
import { loadSkill } from './tools/skills.ts';
import { spawnParallelSubtasks, spawnSubtask } from './tools/spawn.ts';
import { cancelSubtask, retrySubtask, sendMessage, subtaskStatus } from './tools/subtasks.ts';
import { awaitSubtasks, checkUpdates } from './tools/waiting.ts';
import { discardSubtask, pullSubtaskChanges, subtaskDiff } from './tools/work.ts';
import { answer, cancelTask, completeTask, deployTask, listWorkers, retryTask } from './tools/workers.ts';

/** Every tool there is, in the order in which they are listed (TOL1). */
export const TOOLS: readonly Tool[] = [
  listAgents,
  listSpecialists,
  spawnSubtask,
  spawnParallelSubtasks,
  awaitSubtasks,
  checkUpdates,
  notifyParent,
  sendMessage,
  subtaskComplete,
  subtaskStatus,
  cancelSubtask,
  retrySubtask,
  subtaskDiff,
  pullSubtaskChanges,
  discardSubtask,
  savePlan,
  addPlanTask,
  startPlan,
  pausePlan,
  resumePlan,
  listWorkers,
  deployTask,
  completeTask,
  cancelTask,
  retryTask,
  answer,
  readFile,
  createFile,
  editFile,
  deleteFile,
  listDirectory,
  navigateToSymbol,
  findUsages,
  exploreModule,
  documentOutline,
  typeOfSymbol,
  searchText,
  runCommand,
  runTests,
  loadSkill,
  readMore,
];
