import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { planJsonSchema } from '../plan-file/schema.ts';

/** What became of one file. */
export interface Written {
  /** From the root of the repository. */
  readonly path: string;
  readonly what: 'written' | 'kept' | 'changed' | 'left';
  /** What to know or do about it. */
  readonly note: string;
}

/** What `init` puts into a repository; what is there stays as it is. */
export function writeOwnFiles(root: string): Written[] {
  return Object.entries(FILES).map(([path, text]) => writeNew(root, path, text()));
}

/** Never through a link: a repository could have one that leads out of it. */
export function writeNew(root: string, path: string, text: string): Written {
  const file = join(root, path);
  try {
    checkFolders(root, dirname(path));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
    return { path, what: 'written', note: '' };
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')
      return { path, what: 'kept', note: 'it was there already' };
    if (cause instanceof ReveilleError) throw cause;
    throw new ReveilleError('invalid_input', `${file} cannot be written (${String(cause)}).`, { cause });
  }
}

export function checkFolders(root: string, folder: string): void {
  const parts = folder === '.' ? [] : folder.split('/');
  parts.forEach((_, i) => {
    const path = join(root, ...parts.slice(0, i + 1));
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat && !stat.isDirectory())
      throw new ReveilleError('invalid_input', `${path} is not a folder. Move it away and try again.`);
  });
}

const CONFIG = `# How Reveille works on this repository. Everything is optional.
# What concerns you rather than the repository belongs into your own file (reveille config says where).
# What you write here counts once you have trusted it, after every change again: reveille init

# worktrees:
#   dirty: fail             # your checkout has uncommitted changes: fail | head | snapshot; unset, you are asked
#   copy: []                # further ignored files that every worktree gets, as in .gitignore
#   setup:                  # must pass before an agent starts, run in the sandbox
#     command: npm ci

# sandbox:
#   mode: require           # start no agent where there is no sandbox; less is for your own file to say
#   network: on             # on | off | list: only the hosts below
#   hosts: []

# integration:
#   onConflict: ask     # a conflict becomes a task for an agent, or a question: resolve | ask
`;

/** Runs as it is: its agents follow a script, need no key, and leave one small file on their branch. */
const PLAN = `# yaml-language-server: $schema=../plan.schema.json
# reveille plan validate .reveille/plans/example.yaml
# reveille plan run .reveille/plans/example.yaml --input topic="the parser"
name: Example
description: Shows what a plan is made of.

inputs:
  topic:
    description: what it is about
    default: this repository

# For every task that does not say it itself. "scripted" needs no model: put coder or claude:coder instead.
defaults:
  agent: scripted:coder

tasks:
  - id: research
    agent: scripted:researcher
    prompt: |
      Find out how \${{ inputs.topic }} is built.

      \`\`\`reveille-script
      { "steps": [{ "do": "say", "text": "Reading" }, { "do": "work", "ms": 500 },
        { "do": "report", "output": "Three modules, one entry point." }] }
      \`\`\`

  - id: change
    dependencies: [research]
    prompt: |
      Make the change that the research suggests.

      \`\`\`reveille-script
      { "steps": [{ "do": "work", "ms": 500 },
        { "do": "edit", "path": "reveille-example.md", "content": "About \${{ inputs.topic }}.\\n" },
        { "do": "report", "output": "Done." }] }
      \`\`\`

  - id: review
    agent: scripted:reviewer
    dependencies: [change]
    prompt: |
      Review the change.

      \`\`\`reveille-script
      { "steps": [{ "do": "work", "ms": 500 }, { "do": "report", "output": "Nothing to add." }] }
      \`\`\`
`;

const AGENTS = `# Agents of this repository

One file for each: \`name.agent.md\`, as VS Code and Reveille write it, or \`name.md\`, as Claude Code does.
\`reveille agent new <name>\` writes one from a template; \`reveille agent list\` says which can be used.
`;

const FILES: Readonly<Record<string, () => string>> = {
  '.reveille/config.yaml': () => CONFIG,
  '.reveille/plan.schema.json': () => `${JSON.stringify(planJsonSchema(), null, 2)}\n`,
  '.reveille/plans/example.yaml': () => PLAN,
  '.reveille/agents/README.md': () => AGENTS,
};
