import type { Assignment, Role } from '@reveille/core';
import { withoutDelegation, type Task } from '@reveille/protocol';
import { briefing } from './briefing.ts';
import type { AgentDefinition } from './definition.ts';
import type { InstructionFile } from './instructions.ts';
import type { Skill } from './skills.ts';
import { withoutGuidance } from './parse-definition.ts';
import type { Suggestion } from './suggest.ts';
import { systemPrompt } from './system-prompt.ts';
import { TOOL_NAMES, allowedTools } from './tool-names.ts';

/** What there is where the agent works. */
export interface Surroundings extends Pick<Assignment, 'mayNotDelegate'> {
  /** Undefined: its file is gone, or is no longer trusted. */
  readonly definition: AgentDefinition | undefined;
  readonly instructions: readonly InstructionFile[];
  readonly skills: readonly Skill[];
}

/** Whose definition is gone has what every worker needs, and changes nothing. */
export function roleOf(
  { definition, instructions, skills, mayNotDelegate }: Surroundings,
  { model }: Task,
): Role {
  const own = definition ?? { instructions: GONE, tools: [], deniedTools: [], readOnly: true };
  const { tools, deniedTools, readOnly } = mayNotDelegate === undefined ? own : withoutDelegation(own);
  const loads = allowedTools({ tools, deniedTools }, ['load_skill']).length > 0;
  const prompt = systemPrompt({
    definition: mayNotDelegate === undefined ? own : { instructions: withoutGuidance(own.instructions) },
    instructions,
    skills: loads ? skills : [],
  });
  return { systemPrompt: prompt, tools, deniedTools, readOnly, model };
}

const GONE = 'The file that says who you are is gone. Do what your task says as far as you can by reading.';

/** What a worker is told with its first turn. */
export function briefingOf(
  definition: AgentDefinition | undefined,
  others: readonly AgentDefinition[],
  { task, workspace, better, ...rest }: Assignment & { readonly better: Suggestion | null },
): string {
  const { delegatesTo = null, tools = [], deniedTools = [], readOnly = true } = definition ?? {};
  const specialists = others.filter(
    ({ name, suggested }) => suggested && name !== task.agent.name && (delegatesTo?.includes(name) ?? true),
  );
  return briefing({
    ...rest,
    task,
    worktree: workspace && {
      ...workspace,
      readOnly: readOnly || task.reviews !== undefined,
      shared: task.isolation === 'shared' && !task.reviews,
    },
    tools: allowedTools({ tools, deniedTools }, TOOL_NAMES),
    reportsByLastMessage: definition?.reportsByLastMessage ?? false,
    specialists,
    better,
    hasOwnGuidance: (definition?.delegation ?? '') !== '',
  });
}
