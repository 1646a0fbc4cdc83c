import type { AgentSummary } from '@reveille/protocol';
import { z } from 'zod';
import { quote } from '../fence.ts';
import { EVERYBODY, LOOKS, defineTool } from '../tool.ts';

const Agent = z.object({
  name: z.string(),
  description: z.string(),
  expertise: z.array(z.string()),
  whenToUse: z.string(),
  from: z.enum(['repository', 'home', 'builtin']),
  readOnly: z.boolean(),
});

const FILTERS: { readonly [name: string]: (agent: AgentSummary) => boolean } = {
  all: () => true,
  specialists: ({ suggested }) => suggested,
  custom: ({ place }) => place !== 'builtin',
};

export const listAgents = defineTool({
  name: 'a2a_list_agents',
  title: 'List the agents',
  description: [
    'Lists the agents that can be given a task, what each is for, and the backends. The name is the agentType of a2a_spawn_subtask; `backend:name` chooses another backend.',
    'For a certain task, a2a_list_specialists is better.',
  ],
  input: z.strictObject({
    filter: z
      .enum(['all', 'specialists', 'custom'])
      .default('all')
      .describe('"custom": those that this repository or its user added.'),
  }),
  output: z.object({ agents: z.array(Agent), backends: z.array(z.string()) }),
  annotations: LOOKS,
  callers: EVERYBODY,
  async run({ filter }, { agents }) {
    const wanted = (await agents.list()).filter(FILTERS[filter] ?? (() => true));
    const backends = [...(await agents.backends())];
    const lines = wanted.length > 0 ? wanted.map(line) : ['No agent fits this filter.'];
    const text = [...lines, `Backends, the usual one first: ${backends.join(', ')}`].join('\n');
    return { structured: { agents: wanted.map(toAgent), backends }, text };
  },
});

export const listSpecialists = defineTool({
  name: 'a2a_list_specialists',
  title: 'Find a specialist',
  description: [
    'Lists the specialists; with `task`, those that fit it, best first, with the reason. Take the first one unless you know better.',
  ],
  input: z.strictObject({
    task: z.string().min(1).max(20_000).optional().describe('What is to be done, in a sentence or two.'),
  }),
  output: z.object({
    suggestions: z.array(z.object({ name: z.string(), score: z.number(), reason: z.string() })),
    specialists: z.array(Agent),
  }),
  annotations: LOOKS,
  callers: EVERYBODY,
  async run({ task }, { agents, tally }) {
    tally?.add('specialists');
    const specialists = (await agents.list()).filter(({ suggested }) => suggested);
    const suggestions = task === undefined ? [] : [...(await agents.suggest(task))];
    const best = suggestions.map(({ name, score, reason }) => `- @${name} (${score}): ${reason}`);
    const none = 'Nothing in the description speaks for one of them: choose by hand, or do it yourself.';
    const fit =
      task === undefined
        ? []
        : ['Those that fit the task, best first:', ...(best.length > 0 ? best : [none]), ''];
    const text = [...fit, 'All specialists:', ...specialists.map(line)].join('\n');
    return { structured: { suggestions, specialists: specialists.map(toAgent) }, text };
  },
});

const toAgent = ({
  name,
  description,
  expertise,
  whenToUse,
  place,
  readOnly,
}: AgentSummary): z.infer<typeof Agent> => ({
  name,
  description,
  expertise: [...expertise],
  whenToUse,
  from: place,
  readOnly,
});

function line({ name, description, whenToUse, readOnly, place }: AgentSummary): string {
  const marks = [...(readOnly ? ['reads only'] : []), ...(place === 'builtin' ? [] : [`from the ${place}`])];
  const when = whenToUse === '' ? '' : ` When: ${quote(whenToUse, 300)}`;
  return `- @${name}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}: ${quote(description, 300)}${when}`;
}
