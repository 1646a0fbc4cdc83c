import type { AgentDefinition } from './definition.ts';
import type { InstructionFile } from './instructions.ts';
import type { Skill } from './skills.ts';

export interface SystemPromptInput {
  readonly definition: Pick<AgentDefinition, 'instructions'>;
  readonly instructions: readonly InstructionFile[];
  /** Those it may load; none if it has no tool for it. */
  readonly skills: readonly Skill[];
}

/** Who an agent is and the rules of the place it works in, in one order on every backend. Its task is the briefing's. */
export function systemPrompt({ definition, instructions, skills }: SystemPromptInput): string {
  const parts = [definition.instructions];
  if (instructions.length > 0)
    parts.push(
      '# Instructions of this repository\nThey hold for everybody who works here; the later ones are nearer to your files.',
      ...instructions.map(({ path, text }) => `## ${path}\n${text}`),
    );
  if (skills.length > 0)
    parts.push(
      [
        '# Skills',
        'Instructions for special kinds of work. When one fits your task, read it with load_skill before you begin.',
        ...skills.map(({ name, description }) => `- ${name}: ${description}`),
      ].join('\n'),
    );
  return parts.join('\n\n');
}
