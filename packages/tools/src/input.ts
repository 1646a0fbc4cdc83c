import { ReveilleError, invalidInput, nearest, problemIn } from '@reveille/protocol';
import type { z } from 'zod';
import { signature } from './schema.ts';
import type { Tool } from './tool.ts';

interface Problem {
  readonly at: string;
  readonly problem: string;
}

/** More than any tool takes: a plan of thousands of tasks, a file of a few megabytes. */
const MOST = { chars: 8_000_000, values: 200_000, depth: 64, problems: 20 } as const;

/** Parses what a caller sent. A wrong input gets an error that says what to send instead (TOL3). */
export function parseToolInput(tool: Tool, raw: unknown): unknown {
  const given = raw ?? {};
  if (typeof given !== 'object' || Array.isArray(given))
    throw teach(tool, [{ at: 'input', problem: notAnObject(given) }]);
  const unfit = unfitValues(given);
  if (unfit.length > 0) throw teach(tool, unfit);
  const parsed = tool.input.safeParse(given, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw teach(
    tool,
    parsed.error.issues.flatMap((issue) => [
      ...problemsOf(issue, tool.input, missingIn(parsed.error.issues)),
    ]),
  );
}

function teach(tool: Tool, problems: readonly Problem[]): ReveilleError {
  const { message, data } = invalidInput(problems.slice(0, MOST.problems));
  return new ReveilleError('invalid_input', `${message}\nWhat it takes: ${signature(tool)}`, { data });
}

const notAnObject = (given: unknown): string =>
  typeof given === 'string'
    ? 'a string was sent; send the parameters as a JSON object, not as text'
    : `${Array.isArray(given) ? 'a list' : `a ${typeof given}`} was sent; send the parameters as a JSON object`;

const isMissing = (issue: z.core.$ZodIssue): boolean =>
  issue.code === 'invalid_type' && issue.input === undefined;

/** The places where something is missing: what was sent under another name was meant for one of these. */
const missingIn = (issues: readonly z.core.$ZodIssue[]): readonly string[] =>
  issues.filter(isMissing).map(({ path }) => place(path));

function* problemsOf(
  issue: z.core.$ZodIssue,
  input: z.ZodObject,
  missing: readonly string[],
): Generator<Problem> {
  const at = place(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(input, issue.path);
    // The one that has to be sent, or else the first that was not: the main one comes first.
    const meant =
      known.find((key) => missing.includes(place([...issue.path, key]))) ??
      known.find((key) => !isRecord(issue.input) || !(key in issue.input));
    for (const key of issue.keys)
      yield { at: place([...issue.path, key]), problem: unknownKey(key, known, meant) };
    return;
  }
  const missed = issue.code === 'invalid_type' && isMissing(issue);
  yield { at, problem: missed ? `is missing; send ${article(issue.expected)}` : problemIn(issue) };
}

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

/** `meant`: what a name that is like none of them stands for. */
function unknownKey(key: string, known: readonly string[], meant?: string): string {
  if (known.length === 0) return 'is not a parameter; there are none';
  const near = nearest(key, known);
  const isAlike = near[0]?.toLowerCase().includes(key.toLowerCase()) || key.includes(near[0] ?? key);
  const closest = isAlike ? near[0] : (meant ?? near[0]);
  const others = near.filter((name) => name !== closest);
  const rest = others.length > 0 ? ` The others are: ${others.toSorted().join(', ')}.` : '';
  return `is not a parameter. The nearest is ${closest}.${rest}`;
}

/** The names that are known where a path leads, through lists and optional parts. */
function keysAt(input: z.ZodObject, path: readonly PropertyKey[]): string[] {
  let type: unknown = input;
  for (const step of path) type = beneath(bare(type), step);
  const found = bare(type);
  return hasShape(found) ? Object.keys(found.shape) : [];
}

function beneath(type: unknown, step: PropertyKey): unknown {
  if (typeof step === 'number') return isRecord(type) ? type['element'] : undefined;
  return hasShape(type) ? type.shape[String(step)] : undefined;
}

/** Without what wraps a type: a default, an optional. */
function bare(type: unknown): unknown {
  let inner = type;
  for (let i = 0; i < 8 && isRecord(inner) && isRecord(inner['def']) && inner['def']['innerType']; i++)
    inner = inner['def']['innerType'];
  return inner;
}

const hasShape = (type: unknown): type is { shape: Record<string, unknown> } =>
  isRecord(type) && isRecord(type['shape']);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  (typeof value === 'object' || typeof value === 'function') && value !== null;

/** Names from outside are shown short, and never as more than one line. */
const place = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? String(step) : flat(String(step)))).join('.') || 'input';

const flat = (name: string): string =>
  JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name).slice(1, -1);

type Step = { readonly value: unknown; readonly path: readonly PropertyKey[] };

/**
 * What no tool can take, wherever it is: values nested without end, text that is no Unicode or holds a NUL (no database
 * and no file name can hold them), and a key that means something else to JavaScript. Walked without recursion, before
 * any schema sees it.
 */
function unfitValues(given: object): Problem[] {
  const problems: Problem[] = [];
  const waiting: Step[] = [{ value: given, path: [] }];
  let chars = 0;
  let values = 0;
  for (let step = waiting.pop(); step; step = waiting.pop()) {
    const { value, path } = step;
    const at = place(path);
    values += 1;
    if (typeof value === 'string') {
      chars += value.length;
      const wrong = unfitText(value);
      if (wrong) problems.push({ at, problem: wrong });
    }
    if (typeof value === 'object' && value !== null) {
      if (path.length >= MOST.depth)
        return [{ at: 'input', problem: `is nested more than ${MOST.depth} deep` }];
      for (const key of Object.keys(value)) {
        const wrong = key === '__proto__' ? 'is not a parameter' : unfitText(key);
        if (wrong) problems.push({ at: place([...path, key]), problem: wrong });
      }
      // Not spread: a list may be longer than a call can have arguments.
      for (const next of beneathOf(value, path)) waiting.push(next);
    }
    if (chars > MOST.chars || values > MOST.values)
      return [
        { at: 'input', problem: `is too large: at most ${MOST.chars} characters and ${MOST.values} values` },
      ];
    if (problems.length >= MOST.problems) break;
  }
  return problems;
}

function* beneathOf(value: object, path: readonly PropertyKey[]): Generator<Step> {
  const inList = Array.isArray(value);
  for (const [key, entry] of Object.entries(value))
    yield { value: entry, path: [...path, inList ? Number(key) : key] };
}

function unfitText(text: string): string | null {
  if (!text.isWellFormed()) return 'is not valid Unicode: it holds half of a character (a lone surrogate)';
  return text.includes('\0') ? 'holds a NUL character' : null;
}
