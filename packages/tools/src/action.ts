import { kindOfTool, type ActionKind, type ToolWorld, type WantedAction } from '@reveille/protocol';
import type { Tool } from './tool.ts';

/** What every worker needs, and what only looks at what it was shown before: nobody is asked about that. */
const ALWAYS = new Set(['read_more', 'load_skill']);
const DETAIL = 3_000;

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

/** What would become of a file, as far as the call itself says it. */
function detailOf(name: string, fields: Readonly<Record<string, unknown>>): string {
  if (name === 'create_file') {
    const content = String(fields['content']);
    const how = fields['overwrite'] === true ? 'replaces what is there' : 'a new file';
    return bounded(`${lines(content)} lines, ${content.length} characters (${how})\n${marked('+', content)}`);
  }
  if (name !== 'edit_file') return '';
  const [before, after] = [String(fields['oldText']), String(fields['newText'])];
  const where = fields['replaceAll'] === true ? ', everywhere' : '';
  return bounded(
    `−${lines(before)} +${lines(after)} lines${where}\n${marked('-', before)}\n${marked('+', after)}`,
  );
}

const lines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length);

/** Half of what there is room for: both sides of a change are to be seen. */
function marked(sign: string, text: string): string {
  const most = DETAIL / 2;
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return shown === '' ? '' : shown.replace(/\n$/, '').replaceAll(/^/gm, `${sign} `);
}

const bounded = (text: string): string =>
  text.length > DETAIL * 2 ? `${text.slice(0, DETAIL * 2)}…` : text.trimEnd();
