import { createHash } from 'node:crypto';
import type { ActionKind } from '@reveille/protocol';
import { at, brief, fieldsOf, listOf, textOf, type Fields } from './shapes.ts';

/** What a person or parent is asked, in words, and by which key the same wish is known again. */
export interface Wish {
  readonly text: string;
  readonly options: readonly string[];
  readonly key: string;
}

/**
 * `boundary`: what the sandbox holds is allowed there, what it does not is asked. `ask`: everything is asked. Our own
 * tools ask for themselves and decide for themselves: for them nobody is asked.
 */
export type Policy = 'boundary' | 'ask';

export interface Judging {
  readonly policy: Policy;
  /** Whether a sandbox holds the agent. */
  readonly confined: boolean;
  /** Whether it may write at all (AGT4). */
  readonly writes: boolean;
  /** What our own tools are called, for people too: some agents show no other name. */
  readonly ownTools: ReadonlySet<string>;
}

export const OPTIONS = ['approve', 'deny'] as const;

/** What is harmless anywhere, and what is so where a sandbox holds. */
const HARMLESS = new Set(['read', 'search', 'think']);
const HELD = new Set(['edit', 'delete', 'move', 'execute', 'fetch']);
const WRITES = new Set(['edit', 'delete', 'move']);
/** The names of our tools; agents put their own words around them. */
const OURS = /(?:^|[^a-z0-9])(?:reveille|a2a_[a-z_]+|orchestrator_[a-z_]+)(?:[^a-z0-9]|$)/i;

/** What an agent's own tool would do, in the words of the catalogue: the same rule holds on every backend. */
export interface AgentAction {
  readonly tool: string;
  readonly kind: ActionKind;
  readonly command: string | null;
  readonly paths: readonly string[];
  /** Whether a sandbox holds the agent. */
  readonly held: boolean;
  /** All that it said of it. */
  readonly input: unknown;
  readonly detail: string;
}

const TOOLS: Readonly<Record<string, readonly [tool: string, kind: ActionKind]>> = {
  read: ['read_file', 'read'],
  search: ['search_text', 'read'],
  think: ['think', 'read'],
  edit: ['edit_file', 'write'],
  move: ['move_file', 'write'],
  delete: ['delete_file', 'delete'],
  execute: ['run_command', 'command'],
  fetch: ['web_fetch', 'network'],
};

export function actionOf(call: Fields, held: boolean): AgentAction {
  const title = textOf(call['title']) || textOf(call['name']) || 'a tool';
  const known = TOOLS[textOf(call['kind'])];
  const [tool, kind] = known ?? [brief(title, 200), 'other' as const];
  const input = call['rawInput'];
  const places = listOf(call['locations']).map((place) => textOf(at(place, 'path')));
  const paths = [...new Set([...places, ...pathsIn(input)])].filter((path) => path !== '');
  const command = kind === 'command' ? commandIn(input) || title : null;
  const said = [title, ...(input === undefined ? [] : [brief(input, 2_000)])];
  return {
    tool,
    kind,
    command,
    paths: kind === 'command' ? [] : paths.slice(0, 100),
    held,
    input: [title, textOf(call['kind']), input ?? null, places],
    detail: command === null || command !== title ? said.join('\n') : '',
  };
}

const pathsIn = (input: unknown): string[] =>
  ['file_path', 'notebook_path', 'path', 'filePath', 'abs_path'].map((key) => textOf(at(input, key)));

/** Some give a line, some the words of it. */
function commandIn(input: unknown): string {
  const given = at(input, 'command') ?? at(input, 'cmd');
  return Array.isArray(given) ? given.map(shellWord).join(' ') : textOf(given);
}

const shellWord = (word: unknown): string => {
  const text = textOf(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
};

/** What no policy changes: null if it is for the policy to say. */
export function ruledOut(
  call: Fields,
  { writes, ownTools }: Pick<Judging, 'writes' | 'ownTools'>,
): 'allow' | 'deny' | null {
  const kind = textOf(call['kind']);
  // Out of the mode that we started it in there is no way.
  if (kind === 'switch_mode') return 'deny';
  if (!writes && WRITES.has(kind)) return 'deny';
  return isOurs(call, ownTools) ? 'allow' : null;
}

/** What is to be done about a request, before anybody is asked, where no policy was handed in. */
export function judge(call: Fields, judging: Judging): 'allow' | 'deny' | 'ask' {
  const { policy, confined } = judging;
  const kind = textOf(call['kind']);
  const ruled = ruledOut(call, judging);
  if (ruled) return ruled;
  if (policy === 'ask') return 'ask';
  if (HARMLESS.has(kind)) return 'allow';
  return confined && HELD.has(kind) ? 'allow' : 'ask';
}

/** A call of one of our own tools: nothing that runs or changes anything by itself can pass for one. */
function isOurs(call: Fields, ownTools: ReadonlySet<string>): boolean {
  const kind = textOf(call['kind']);
  if (kind !== '' && kind !== 'other' && kind !== 'read' && kind !== 'think') return false;
  const names = [textOf(call['name']), textOf(call['title'])];
  return names.some((name) => OURS.test(name) || ownTools.has(name));
}

/** The wish of an agent, in words that can be judged without seeing its screen. */
export function wishOf(call: Fields): Wish {
  const title = textOf(call['title']) || textOf(call['name']) || 'a tool';
  const kind = textOf(call['kind']);
  const input = call['rawInput'];
  const places = listOf(call['locations']).map((place) => textOf(at(place, 'path')));
  const lines = [
    `It asks for leave to use: ${brief(title, 500)}${kind ? ` (${kind})` : ''}`,
    ...(input === undefined ? [] : [brief(input, 2_000)]),
    ...(places.length > 0 ? [`Files: ${brief(places.join(', '), 500)}`] : []),
  ];
  const key = createHash('sha256')
    .update(brief([title, kind, input, places], 100_000))
    .digest('hex');
  return { text: lines.join('\n'), options: OPTIONS, key: `permission:${key.slice(0, 32)}` };
}

/** Only a plain yes allows. */
export const allows = (answer: string): boolean =>
  /^\s*(?:approve[ds]?|allow(?:ed|s)?|yes|y|ok|okay|granted?)\b/i.test(answer);

/**
 * The option that means it, by kind and never by place: agents order and name them as they like. Once, where there is a
 * choice: what was allowed for ever would not be asked for again. Null: it offers nothing that means it.
 */
export function optionFor(options: unknown, verdict: 'allow' | 'deny'): string | null {
  const wanted = verdict === 'allow' ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const offered = listOf(options).map(fieldsOf);
  for (const kind of wanted) {
    const found = offered.find((option) => option['kind'] === kind);
    if (found && textOf(found['optionId']) !== '') return textOf(found['optionId']);
  }
  return null;
}
