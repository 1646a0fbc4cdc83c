import { checkPlan, graphProblems, DEFAULTS } from '@reveille/core';
import { withScript, withoutScript } from '@reveille/executors';
import {
  LegiblePlan,
  parseAgentType,
  type LegibleTask,
  type PlanInput,
  type PlanProblem,
} from '@reveille/protocol';
import { z } from 'zod';
import type { BackendsHere } from '../agents.ts';
import { fillInputs, inputFindings, type Inputs } from './inputs.ts';
import { invalidPlan, pathOf, shapeFindings, type FileProblem, type Finding } from './problems.ts';
import { PlanFile } from './schema.ts';
import { parseSource, type Source } from './source.ts';

/** What a plan may name. Without backends, any is taken for one that can be used. */
export interface Known {
  readonly agents: readonly { readonly name: string; readonly backend: string | null }[];
  /** Of the repository, but nobody has trusted them yet. */
  readonly untrusted: readonly string[];
  readonly backends: Pick<BackendsHere, 'backends' | 'problem'> | null;
}

export interface CheckOptions {
  readonly file: string;
  readonly known: Known;
  /** What `--input` gave; null: the plan is only looked at, and nothing has to be given. */
  readonly given: Readonly<Record<string, string>> | null;
}

/** A plan file that can be saved, and the way back to its lines for what the engine says of it. */
export interface CheckedFile {
  readonly plan: Omit<PlanInput, 'repository'>;
  readonly locate: (problems: readonly PlanProblem[]) => FileProblem[];
}

/** Everything that is wrong with a plan file, at once, by line (PLN1). */
export function checkPlanText(
  text: string,
  options: CheckOptions,
): CheckedFile | { problems: FileProblem[] } {
  const source = parseSource(text, options.file);
  if ('problems' in source) return source;
  const inputs: Inputs = { declared: declaredIn(source.value), given: options.given ?? {} };
  const filled = fillInputs(source.value, inputs);
  const asked = options.given === null ? [] : inputFindings(inputs);
  const shape = PlanFile.safeParse(filled.value);
  const plan = withDefaults(filled.value);
  const problems = locate(source, [
    ...filled.findings.map((finding) => exact(source, finding)),
    ...asked,
    ...(shape.success ? [] : shapeFindings(shape.error.issues, keysAt)),
    ...meaning(plan, options.known),
  ]);
  if (problems.length > 0) return { problems };
  // The shape was found right, and the defaults only fill what it may hold.
  return {
    plan: plan as CheckedFile['plan'],
    locate: (found) =>
      locate(
        source,
        found.map(({ at, problem }) => ({ path: pathOf(at), problem })),
      ),
  };
}

export function checkedPlan(text: string, options: CheckOptions): CheckedFile {
  const checked = checkPlanText(text, options);
  if ('problems' in checked) throw invalidPlan(checked.problems);
  return checked;
}

/** By line; what several tasks have from one default is said once. */
function locate(source: Source, findings: readonly Finding[]): FileProblem[] {
  const found = findings.map((finding) => source.place(fromDefaults(source, finding)));
  const seen = new Set<string>();
  return found
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .filter(({ line, column, problem }) => {
      const key = `${line}:${column}:${problem}`;
      return !seen.has(key) && seen.add(key);
    });
}

/** What a task does not say itself it has from the defaults, and there it is wrong. */
function fromDefaults(source: Source, finding: Finding): Finding {
  const [first, , key, ...rest] = finding.path;
  if (first !== 'tasks' || key === undefined || source.span(finding.path.slice(0, 3))) return finding;
  const path = ['defaults', key, ...rest];
  return source.span(path.slice(0, 2)) ? { ...finding, path } : finding;
}

/** An input is looked for in the text it stands in, so that its own line is named. */
function exact(source: Source, finding: Finding): Finding {
  const span = source.span(finding.path);
  const { offset: nth, ...rest } = finding;
  if (!span || nth === undefined) return rest;
  let at = span[0] - 1;
  for (let i = 0; i <= nth; i++) at = source.text.indexOf('${{', at + 1);
  return at === -1 || at >= span[1] ? rest : { ...rest, offset: at };
}

const Declared = PlanFile.shape.inputs.catch({});
function declaredIn(value: unknown): Inputs['declared'] {
  const inputs: unknown = isObject(value) ? value['inputs'] : undefined;
  return Declared.parse(inputs) ?? {};
}

/** The plan without what only its file has. */
function withDefaults(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { inputs: _inputs, defaults, ...plan } = value;
  if (!isObject(defaults) || !Array.isArray(plan['tasks'])) return plan;
  const tasks = plan['tasks'].map((task: unknown) => (isObject(task) ? { ...defaults, ...task } : task));
  return { ...plan, tasks };
}

/** Agents and dependencies, as far as they can be read, in the engine's own words. */
function meaning(plan: unknown, known: Known): Finding[] {
  const legible = LegiblePlan.safeParse(plan);
  if (!legible.success || legible.data.tasks.length === 0) return [];
  const { tasks } = legible.data;
  const named = tasks.map(({ agent, review, prompt }, i) => ({
    id: `${i}`,
    // One that cannot be read is found by the schema.
    prompt: prompt || UNREAD,
    ...(agent === undefined ? {} : { agent }),
    ...(review === undefined ? {} : { review }),
  }));
  const checked = checkPlan(knownToEngine(known, tasks), { name: '-', tasks: named });
  const problems = [...('problems' in checked ? checked.problems : []), ...graphProblems(tasks)];
  return problems.map(({ at, problem }) => {
    const path = pathOf(at);
    const task = tasks[Number(path[1])];
    const named = path[2] === 'review' ? task?.review : task?.agent;
    return { path, problem: untrusted(named, path, known) ?? problem };
  });
}

function untrusted(agent: string | undefined, path: Finding['path'], known: Known): string | null {
  const isAgent = path[2] === 'agent' || path[2] === 'review';
  const name = isAgent && agent !== undefined ? parseAgentType(agent, '')?.name : undefined;
  if (name === undefined || !known.untrusted.includes(name)) return null;
  return `the agent "${name}" of this repository is not trusted yet: reveille init`;
}

function knownToEngine(known: Known, tasks: readonly LegibleTask[]): Parameters<typeof checkPlan>[0] {
  const { agents, backends } = known;
  const all = backends?.backends ?? null;
  const byName = new Map(agents.map((agent) => [agent.name, { ...agent, ...PLAIN }]));
  const defaultBackend = all?.find(({ isDefault }) => isDefault)?.name ?? DEFAULTS.defaultBackend;
  return {
    agents: { names: () => [...byName.keys()], defined: (name) => byName.get(name) },
    executors: {
      backends: () => all?.map(({ name }) => name) ?? mentioned(known, tasks),
      problem: (name) => backends?.problem(name),
      get: (name) => (all && name === 'scripted' ? { ...NOBODY, refuses: withoutScript } : NOBODY),
    },
    settings: { ...DEFAULTS, defaultBackend },
  };
}

/** What a check of a plan never asks about an agent. */
const PLAIN = { model: null, delegatesTo: null, tools: [], deniedTools: [], readOnly: false };

/** Every backend that is named, where nothing is known of any. */
function mentioned({ agents }: Known, tasks: readonly LegibleTask[]): string[] {
  const named = tasks.flatMap(({ agent, review }) => [agent, review]);
  const backends = named.map((type) => parseAgentType(type ?? '', '')?.backend ?? '');
  const own = agents.map(({ backend }) => backend ?? '');
  return [...backends, ...own, DEFAULTS.defaultBackend].filter((name) => name !== '');
}

const UNREAD = withScript('-', { review: [[]] });

/** Stands for an executor that exists: nothing is run here. */
const NOBODY = {
  steers: false,
  start: () => {
    throw new Error('nothing is run here');
  },
  reap: async () => undefined,
};

/** The keys that the schema has in a place. */
function keysAt(path: readonly (string | number)[]): readonly string[] {
  let schema: unknown = PlanFile;
  for (const segment of path) {
    const inside = unwrapped(schema);
    if (inside instanceof z.ZodArray) schema = inside.element;
    else if (inside instanceof z.ZodObject) schema = (inside.shape as Record<string, unknown>)[segment];
    else return [];
  }
  const last = unwrapped(schema);
  return last instanceof z.ZodObject ? Object.keys(last.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return unwrapped(schema.unwrap());
  return schema;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
