import { createHash } from 'node:crypto';
import { kindOfTool, type ActionKind, type ToolWorld, type WantedAction } from '@reveille/protocol';
import type { Tool } from './tool.ts';

/** What every worker needs, and what only looks at what it was shown before: nobody is asked about that. */
const ALWAYS = new Set(['read_more', 'load_skill']);
/** Characters of each side of a change. */
const DETAIL = 24_000;

/** What a call would do, for whoever decides whether it may; null: that is never in question. */
export async function actionOf(
  tool: Tool,
  input: unknown,
  world: Pick<ToolWorld, 'caller' | 'workspace'>,
): Promise<WantedAction | null> {
  if (ALWAYS.has(tool.name) || tool.always.includes(world.caller.kind)) return null;
  const fields = input as Readonly<Record<string, unknown>>;
  const kind = kindOf(tool);
  return {
    tool: tool.name,
    kind,
    command: kind === 'command' ? await commandOf(tool, fields, world) : null,
    paths: kind === 'command' || typeof fields['path'] !== 'string' ? [] : [fields['path']],
    detail: detailOf(tool.name, fields),
    input,
  };
}

function kindOf({ name, annotations }: Tool): ActionKind {
  const kind = kindOfTool(name);
  return kind === 'other' && annotations.readOnly ? 'read' : kind;
}

async function commandOf(
  { name }: Tool,
  { command, paths }: Readonly<Record<string, unknown>>,
  { workspace }: Pick<ToolWorld, 'workspace'>,
): Promise<string> {
  if (name !== 'run_tests') return String(command);
  const given = Array.isArray(paths) ? paths.map(String) : [];
  return [(await workspace?.testCommand()) ?? 'the tests', ...given].join(' ');
}

/** What would become of a file, as far as the call itself says it. What is not shown is said first, with a hash of all. */
function detailOf(name: string, fields: Readonly<Record<string, unknown>>): string {
  if (name === 'create_file') {
    const content = String(fields['content']);
    const how = fields['overwrite'] === true ? 'replaces what is there' : 'a new file';
    const [shown, cut] = marked('+', content);
    return `${lines(content)} lines, ${content.length} characters (${how}${cut})\n${shown}`.trimEnd();
  }
  if (name !== 'edit_file') return '';
  const [before, after] = [String(fields['oldText']), String(fields['newText'])];
  const where = fields['replaceAll'] === true ? ', everywhere' : '';
  const [[old, oldCut], [added, addedCut]] = [marked('-', before), marked('+', after)];
  return `−${lines(before)}${oldCut} +${lines(after)}${addedCut} lines${where}\n${old}\n${added}`.trimEnd();
}

const lines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length);

/** The lines of a text with a sign before each, and words for what is left out of them. */
function marked(sign: string, text: string): readonly [shown: string, cut: string] {
  const all = text === '' ? '' : text.replace(/\n$/, '').replaceAll(/^/gm, `${sign} `);
  if (all.length <= DETAIL) return [all, ''];
  const shown = all.slice(0, DETAIL).replace(/\n[^\n]*$/, '');
  const sha256 = createHash('sha256').update(text).digest('hex');
  const left = text.length - shown.length + shown.split('\n').length * 2;
  return [shown, `; about ${Math.max(left, 1)} characters more that are not shown, sha256 of all ${sha256}`];
}
