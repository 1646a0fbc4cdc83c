import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { AgentDefinition, AgentEntry, Problem } from '@reveille/agents';
import { ReveilleError, nearest, type Backend } from '@reveille/protocol';
import { agentsOf, backendsHere } from '../agents.ts';
import { command } from '../command/spec.ts';
import { paintOf, print } from '../reach.ts';
import { homeOf, repositoryIfAny, repositoryOf } from '../repository.ts';
import { fit, pad } from '../view/columns.ts';

const GROUP = 'Agents';

const agentList = command({
  name: 'agent list',
  group: GROUP,
  summary: 'lists the agents that can be given a task here',
  usage: '',
  about:
    'Nearest first: of this repository, of your home, built in. One of the repository counts once you trust it (reveille init). Last, what they can be run on.',
  options: {},
  json: '{ agents: [{ name, description, place, path, state, readOnly, model, backend }], problems, backends: [{ name, isDefault, why }] or null }',
  async run(call) {
    using agents = await agentsOf(call.io, await repositoryIfAny(call));
    const entries = agents.list();
    const problems = agents.problems();
    const backends = (await backendsHere(call.io))?.backends ?? null;
    const paint = paintOf(call);
    const columns = call.io.out.columns ?? 120;
    const widest = Math.max(...entries.map(({ definition }) => definition.name.length));
    const marks = Math.max(...entries.map((entry) => markOf(entry).length));
    print(call, { agents: entries.map(brief), problems, backends }, () => [
      ...entries.map((entry) => {
        const { definition, state } = entry;
        const left = `${paint(state === 'used' ? 'bold' : 'dim', `@${pad(definition.name, widest)}`)}  ${paint('dim', pad(markOf(entry), marks))}`;
        const room = columns - widest - marks - 5;
        return room < 12 ? left : `${left}  ${fit(definition.description, room)}`;
      }),
      ...problems.map((problem) =>
        paint(problem.severity === 'error' ? 'red' : 'yellow', problemWords(problem)),
      ),
      ...(backends === null ? [] : [`Backends: ${backendWords(backends)}`]),
    ]);
  },
});

const markOf = ({ definition: { place }, state }: AgentEntry): string => {
  // A backend is called `builtin`, too.
  const where = place === 'builtin' ? 'built in' : place;
  return state === 'used' ? where : `${where}, ${state}`;
};

/** As in `claude (default: Claude Code is installed), scripted`. */
export const backendWords = (backends: readonly Backend[]): string =>
  backends
    .map(({ name, isDefault, why }) =>
      isDefault ? `${name} (default${why === undefined ? '' : `: ${why}`})` : name,
    )
    .join(', ') || 'none';

const brief = ({ definition, state }: AgentEntry) => {
  const { name, description, place, path, readOnly, model, backend } = definition;
  return { name, description, place, path, state, readOnly, model, backend };
};

const problemWords = ({ path, line, column, severity, message }: Problem): string =>
  `${path}${line === null ? '' : `:${line}${column === null ? '' : `:${column}`}`}: ${severity}: ${message}`;

const agentShow = command({
  name: 'agent show',
  group: GROUP,
  summary: 'shows one agent: what it is for, what it may use, what it is told',
  usage: '<agent>',
  about: '',
  options: {},
  json: '{ agent }: the whole definition.',
  async run(call) {
    const name = (call.args[0] ?? '').replace(/^@/, '');
    using agents = await agentsOf(call.io, await repositoryIfAny(call));
    const entry =
      agents.get(name) ?? agents.list().find(({ definition }) => definition.name === name)?.definition;
    if (!entry) {
      const near = nearest(name, agents.names()).slice(0, 3).join(', ');
      throw new ReveilleError('not_found', `There is no agent "${name.slice(0, 60)}". The nearest: ${near}.`);
    }
    print(call, { agent: entry }, () => definitionLines(entry));
  },
});

function definitionLines(definition: AgentDefinition): string[] {
  const { name, description, place, path, model, backend, readOnly, tools, whenToUse, delegatesTo } =
    definition;
  const facts = [
    ['from', `${place}: ${path}`],
    ['when', whenToUse],
    ['model', model ?? ''],
    ['backend', backend ?? ''],
    ['writes', readOnly ? 'no' : 'yes'],
    ['tools', tools.join(', ')],
    ['may spawn', delegatesTo === null ? '' : delegatesTo.join(', ') || 'nobody'],
  ] as const;
  return [
    `@${name}: ${description}`,
    '',
    ...facts.filter(([, value]) => value !== '').map(([key, value]) => `${pad(key, 9)}  ${value}`),
    '',
    definition.instructions.trim(),
  ];
}

const agentNew = command({
  name: 'agent new',
  group: GROUP,
  summary: 'writes a new agent from a template, for you to fill in',
  usage: '<name>',
  about:
    'Into .reveille/agents of the repository you are in, or of your home. An agent that exists is not touched.',
  options: {
    description: { type: 'string', value: 'TEXT', means: 'one line: what it is for' },
    'read-only': { type: 'boolean', means: 'it gets no tool that writes' },
    user: { type: 'boolean', means: 'into your home, for all repositories' },
  },
  json: '{ name, path }',
  async run(call) {
    const { agentFileName, agentTemplate } = await import('@reveille/agents');
    const { description, user } = call.options;
    const [name = ''] = call.args;
    const file = agentFileName(name);
    const text = agentTemplate(name, {
      readOnly: call.options['read-only'],
      ...(description === undefined ? {} : { description }),
    });
    const root = user ? homeOf(call.io) : (await repositoryOf(call)).top;
    const path = join(root, '.reveille', 'agents', file);
    write(path, text);
    const shown = user ? path : relative(call.io.cwd, path);
    const next = user ? [] : ['It counts here once you trust it: reveille init.'];
    print(call, { name: file.replace(/\.agent\.md$/, ''), path }, () => [`Wrote ${shown}.`, ...next]);
  },
});

function write(path: string, text: string): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text, { flag: 'wx' });
  } catch (cause) {
    const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const words = exists
      ? `${path} exists already; it was not touched.`
      : `${path} cannot be written (${String(cause)}).`;
    throw new ReveilleError(exists ? 'wrong_state' : 'invalid_input', words, { cause });
  }
}

export const agentCommands = [agentList, agentShow, agentNew];
