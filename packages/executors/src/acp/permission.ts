import { createHash } from 'node:crypto';
import { kindOfTool, type ActionKind } from '@reveille/protocol';
import { carriedBy, joinedLines } from './carried.ts';
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

/** The names of our own tools, by what this vendor calls each of them, exactly. */
export type OwnTools = ReadonlyMap<string, string>;

export const ownToolsOf = (given: {
  readonly ownTools: readonly string[];
  readonly preset: { readonly toolName: (tool: string) => string };
}): OwnTools => new Map(given.ownTools.map((tool) => [given.preset.toolName(tool), tool]));

export interface Judging {
  readonly policy: Policy;
  /** Whether a sandbox holds the agent. */
  readonly confined: boolean;
  /** Whether it may write at all (AGT4). */
  readonly writes: boolean;
  readonly ownTools: OwnTools;
}

export const OPTIONS = ['approve', 'deny'] as const;

/** What is harmless anywhere, and what is so where a sandbox holds. */
const HARMLESS = new Set(['read', 'search', 'think']);
const HELD = new Set(['edit', 'delete', 'move', 'execute', 'fetch']);
const WRITES = new Set(['edit', 'delete', 'move']);
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

type ToolAndKind = readonly [tool: string, kind: ActionKind];
const TOOLS: Readonly<Record<string, ToolAndKind>> & { readonly execute: ToolAndKind } = {
  read: ['read_file', 'read'],
  search: ['search_text', 'read'],
  think: ['think', 'read'],
  edit: ['edit_file', 'write'],
  move: ['move_file', 'write'],
  delete: ['delete_file', 'delete'],
  execute: ['run_command', 'command'],
  fetch: ['web_fetch', 'network'],
};

/** Kinds that change files. Their `command`, if they have one, is a word like "create", and is judged as well. */
const CHANGES: ReadonlySet<ActionKind> = new Set(['write', 'delete']);

/** What a call carries counts before what it is called: whatever brings a command runs it. */
export function actionOf(
  call: Fields,
  { confined, ownTools }: Pick<Judging, 'confined' | 'ownTools'>,
): AgentAction {
  const title = textOf(call['title']) || textOf(call['name']) || 'a tool';
  const input = call['rawInput'];
  const own = ownNameOf(call, ownTools);
  const { command: carried, paths, texts } = carriedBy(call, own !== null);
  const diffs = diffsOf(call);
  const named = own === null || diffs.length > 0 ? (TOOLS[kindOf(call)] ?? UNKNOWN(title)) : ownTool(own);
  const [tool, kind] = carried === '' || CHANGES.has(named[1]) ? named : TOOLS.execute;
  // Where no command is said, all that is said may be one.
  const command = carried || (kind === 'command' ? joinedLines([...new Set([title, ...texts])]) : null);
  const said = [title, ...(input === undefined ? [] : [shown(input, MOST_SHOWN)]), ...diffs.map(diffWords)];
  return {
    tool,
    kind,
    command,
    paths,
    held: confined,
    input: [title, textOf(call['kind']), input ?? null, paths, diffs],
    detail: command === null || command !== title ? said.join('\n') : '',
  };
}

/** What a call does: whatever brings the new content of a file changes it, whatever it is called. */
function kindOf(call: Fields): string {
  const kind = textOf(call['kind']);
  return WRITES.has(kind) || diffsOf(call).length === 0 ? kind : 'edit';
}

/** What a file would become, as far as an agent says it. */
interface FileDiff {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
}

export const diffsOf = (call: Fields): readonly FileDiff[] =>
  listOf(call['content'])
    .map(fieldsOf)
    .filter(({ type, newText }) => type === 'diff' && typeof newText === 'string')
    .map(({ path, oldText, newText }) => ({
      path: textOf(path),
      oldText: textOf(oldText),
      newText: textOf(newText),
    }));

const diffWords = ({ path, oldText, newText }: FileDiff): string =>
  `${path} would be, in place of ${oldText.length} characters:\n${shown(newText, MOST_SHOWN)}`;

/** A value as text. What is not shown of it is counted, and stands behind a hash of all. */
function shown(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.length <= most) return text;
  const sha256 = createHash('sha256').update(text).digest('hex');
  return `(${text.length - most} of ${text.length} characters are not shown, sha256 of all ${sha256})\n${text.slice(0, most)}`;
}

const MOST_SHOWN = 16_000;
const MOST_PATHS = 100;
/** Over all paths. Each folder is looked up, to see where it leads. */
const MOST_FOLDERS = 2_000;
const UNKNOWN = (title: string): ToolAndKind => [brief(title, 200), 'other'];
/** Tools of ours of no other kind only look. */
function ownTool(name: string): ToolAndKind {
  const kind = kindOfTool(name);
  return [name, kind === 'other' ? 'read' : kind];
}

/** What no policy changes: null if it is for the policy to say. */
export function ruledOut(
  call: Fields,
  { writes, ownTools }: Pick<Judging, 'writes' | 'ownTools'>,
): 'allow' | 'deny' | null {
  const kind = kindOf(call);
  // Out of the mode that we started it in there is no way.
  if (kind === 'switch_mode') return 'deny';
  if (!writes && WRITES.has(kind)) return 'deny';
  // More files than anybody looks through: none of them may hide behind the others.
  const { paths, unread } = carriedBy(call, false);
  const folders = paths.reduce((sum, path) => sum + path.split('/').length, 0);
  if (paths.length > MOST_PATHS || folders > MOST_FOLDERS || unread) return 'deny';
  return isOurs(call, ownTools) ? 'allow' : null;
}

/** What is to be done about a request, before anybody is asked, where no policy was handed in. */
export function judge(call: Fields, judging: Judging): 'allow' | 'deny' | 'ask' {
  const { policy, confined, ownTools } = judging;
  const runs = carriedBy(call, ownNameOf(call, ownTools) !== null).command !== '';
  const kind = runs ? 'execute' : kindOf(call);
  const ruled = ruledOut(call, judging);
  if (ruled) return ruled;
  if (policy === 'ask') return 'ask';
  if (HARMLESS.has(kind)) return 'allow';
  return confined && HELD.has(kind) ? 'allow' : 'ask';
}

/** Kinds that vendors give a tool of ours. Codex calls everything of a server `execute`. */
const OWN_KINDS = new Set(['', 'other', 'execute']);

/**
 * The tool of ours that is called, or null. Its name must be exactly what this vendor makes of one of ours. Where there is only
 * a title, the first one counts that was announced, because a later one may be made for people.
 */
function ownNameOf(call: Fields, ownTools: OwnTools): string | null {
  const name = textOf(call['name']) || textOf(call['announced']) || textOf(call['title']);
  return OWN_KINDS.has(textOf(call['kind'])) ? (ownTools.get(name) ?? null) : null;
}

/** Our tools ask for themselves; but whatever brings a command or files is judged by these first. */
function isOurs(call: Fields, ownTools: OwnTools): boolean {
  if (ownNameOf(call, ownTools) === null) return false;
  const { command, paths } = carriedBy(call, true);
  return command === '' && paths.length === 0;
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
