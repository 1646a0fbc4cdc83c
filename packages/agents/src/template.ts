import { ReveilleError } from '@reveille/protocol';
import { legalName } from './parse-definition.ts';

export interface TemplateOptions {
  readonly description?: string;
  /** It gets no tool that writes. */
  readonly readOnly?: boolean;
}

const READS = [
  'read_file',
  'list_directory',
  'search_text',
  'navigate_to_symbol',
  'find_usages',
  'explore_module',
  'document_outline',
  'type_of',
];
const WRITES = ['create_file', 'edit_file', 'run_command', 'run_tests'];

/** The file a new agent is written to, inside a folder of agents. */
export const agentFileName = (name: string): string => `${checkedName(name)}.agent.md`;

/** A whole definition to begin with: it can be used as it is, and says in each place what belongs there. */
export function agentTemplate(name: string, options: TemplateOptions = {}): string {
  const agent = checkedName(name);
  const description = options.description?.replaceAll(/\s+/g, ' ').trim() || `Does the work of ${agent}s.`;
  const tools = options.readOnly ? READS : [...READS, ...WRITES];
  return `---
name: ${JSON.stringify(agent)}
description: ${JSON.stringify(description)}
# What it knows well, and the words in a task that should make others think of it.
expertise:
  - ${JSON.stringify(agent)}
triggers:
  - ${JSON.stringify(agent)}
when-to-use: When a task needs the work of ${agent}.
# Exactly these, and what every worker has. Without this line it may use everything a worker may.
tools: [${tools.join(', ')}, load_skill]
# model: sonnet
# backend: claude
---
# ${title(agent)}

## Role
${sentence(description)} Say here, in one or two sentences, who it is and what it answers for.

## Workflow
1. Read the task and what it names, until you can say in one sentence what is wanted.
2. Do the work in small steps and check each.
3. Look at the result as the one who asked for it would, and report.

## Output format
What you found or did, first in one sentence, then in detail with \`path:line\` for every claim about code; then
what is not done and why.

## Delegation
- Hand work on only if another specialist would do it better, or if parts of it can be done at the same time.
- Do not hand on what takes you a few calls, and never the work you were chosen for.
`;
}

function checkedName(name: string): string {
  const legal = legalName(name.replace(/^@/, ''));
  if (legal !== null) return legal;
  const message = `"${name.slice(0, 64)}" cannot be the name of an agent: it is a letter and then letters, digits, "-" or "_", at most 64 in all.`;
  throw new ReveilleError('invalid_input', message, {
    data: { problems: [{ at: 'name', problem: message }] },
  });
}

const sentence = (text: string): string => (/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);

const title = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[-_]/g, ' ');
