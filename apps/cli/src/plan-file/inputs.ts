import { nearest } from '@reveille/protocol';
import type { Finding } from './problems.ts';
import type { PlanFileInput } from './schema.ts';

/** `${{ inputs.name }}`. Two dollars are one dollar, and then nothing is put in. */
const PLACE = /\$?\$\{\{([\s\S]*?)\}\}/g;
const NAMED = /^\s*inputs\.([A-Za-z][A-Za-z0-9_-]*)\s*$/;
/** A script in a prompt is JSON: what is put into it stays a string there. */
const SCRIPT = /```reveille-script\n[\s\S]*?\n```/g;

/**
 * The texts that an input may stand in. Not `verify`: that is a command line, and data has no place in one. Nor what
 * decides how a task runs.
 */
const PLAN_TEXTS: readonly string[] = ['name', 'description', 'baseBranch'];
const TASK_TEXTS: readonly string[] = ['name', 'prompt', 'expectedOutput', 'model', 'targetFiles'];

export interface Inputs {
  /** As the file declares them. */
  readonly declared: Readonly<Record<string, PlanFileInput>>;
  /** As the person gave them. */
  readonly given: Readonly<Record<string, string>>;
}

export interface Filled {
  /** The same plan with every input in its place; what has no value stays as it is. */
  readonly value: unknown;
  readonly findings: readonly Finding[];
}

/** Puts inputs into texts, as data: nothing that is put in is looked at again. */
export function fillInputs(value: unknown, inputs: Inputs): Filled {
  const findings: Finding[] = [];
  const fill = (node: unknown, path: Finding['path']): unknown => {
    if (typeof node === 'string') return fillText(node, path, inputs, findings);
    if (Array.isArray(node)) return node.map((item, i) => fill(item, [...path, i]));
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, fill(inner, [...path, key])]));
  };
  return { value: fill(value, []), findings };
}

function fillText(text: string, path: Finding['path'], inputs: Inputs, findings: Finding[]): string {
  if (!text.includes('${{') || path[0] === 'inputs') return text;
  const scripts = [...text.matchAll(SCRIPT)].map(
    ({ index, 0: block }) => [index, index + block.length] as const,
  );
  return text.replaceAll(PLACE, (whole: string, expression: string, offset: number) => {
    if (whole.startsWith('$$')) return whole.slice(1);
    const found = valueOf(expression, path, inputs);
    if ('problem' in found) {
      findings.push({ path, problem: found.problem, offset: nth(text, offset) });
      return whole;
    }
    if (found.value === undefined) return whole;
    const quoted = scripts.some(([from, to]) => offset >= from && offset < to);
    return quoted ? JSON.stringify(found.value).slice(1, -1) : found.value;
  });
}

/** Which one in its text it is: the source may hold more characters between them, but not another order. */
const nth = (text: string, offset: number): number => text.slice(0, offset).split('${{').length - 1;

type Value = { readonly value: string | undefined } | { readonly problem: string };

function valueOf(expression: string, path: Finding['path'], { declared, given }: Inputs): Value {
  if (!mayHold(path)) return { problem: 'no input can be put in here' };
  const name = NAMED.exec(expression)?.[1];
  if (name === undefined)
    return {
      problem: `"\${{${expression.slice(0, 40)}}}" is not understood; write \${{ inputs.name }}, or $\${{ for the characters themselves`,
    };
  if (!Object.hasOwn(declared, name)) {
    const names = nearest(name, Object.keys(declared)).slice(0, 3).join(', ');
    return {
      problem: `there is no input "${name}"${names ? `; there is ${names}` : '; declare it in inputs'}`,
    };
  }
  if (Object.hasOwn(given, name)) return { value: given[name] };
  const preset = defaultOf(declared[name]);
  return { value: preset === undefined ? undefined : String(preset) };
}

const mayHold = ([first, second, third]: Finding['path']): boolean =>
  first === 'tasks'
    ? typeof second === 'number' && TASK_TEXTS.includes(String(third))
    : second === undefined && PLAN_TEXTS.includes(String(first));

function defaultOf(input: PlanFileInput | undefined): string | number | boolean | undefined {
  if (input === null || typeof input !== 'object') return input ?? undefined;
  return input.default;
}

/** What was not given and has no default, with what it is for; what was given and is not asked for. */
export function inputFindings({ declared, given }: Inputs): Finding[] {
  const missing = Object.entries(declared)
    .filter(([name, input]) => !Object.hasOwn(given, name) && defaultOf(input) === undefined)
    .map(([name, input]) => {
      const what = typeof input === 'object' && input?.description ? ` (${input.description})` : '';
      return { path: ['inputs', name], key: true, problem: `it has to be given${what}: --input ${name}=…` };
    });
  const unknown = Object.keys(given)
    .filter((name) => !Object.hasOwn(declared, name))
    .map((name) => {
      const [best] = nearest(name, Object.keys(declared));
      const instead = best === undefined ? '' : `; there is ${best}`;
      return {
        path: ['inputs'],
        key: true,
        problem: `--input ${name}: the plan has no such input${instead}`,
      };
    });
  return [...missing, ...unknown];
}
