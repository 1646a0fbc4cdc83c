import { z } from 'zod';
import { EVERYBODY, LOOKS, defineTool } from '../tool.ts';

export const loadSkill = defineTool({
  name: 'load_skill',
  title: 'Load a skill',
  description: [
    'Gives you the instructions of a skill: how a certain kind of work is to be done here. Load it before you do that work. Without `skillId`: the list of skills.',
  ],
  input: z.strictObject({
    skillId: z.string().min(1).max(120).optional().describe(''),
    file: z.string().min(1).max(1_000).optional().describe('One of the files in its folder.'),
  }),
  output: z.object({
    skills: z.array(z.object({ name: z.string(), description: z.string() })),
    text: z.string().nullable(),
    files: z.array(z.string()),
  }),
  annotations: LOOKS,
  callers: EVERYBODY,
  async run({ skillId, file }, { skills }) {
    if (skillId === undefined) {
      const list = (await skills.list()).map(({ name, description }) => ({ name, description }));
      const lines = list.map(({ name, description }) => `- ${name}: ${description}`);
      const text = lines.length > 0 ? lines.join('\n') : 'There are no skills here.';
      return { structured: { skills: list, text: null, files: [] }, text };
    }
    const { skill, text, files } = await skills.load(skillId, file);
    const others = files.length > 0 ? `\n\nFurther files of this skill: ${files.join(', ')}` : '';
    const { name, description } = skill;
    return {
      structured: { skills: [{ name, description }], text, files: [...files] },
      text: `${text}${others}`,
    };
  },
});
