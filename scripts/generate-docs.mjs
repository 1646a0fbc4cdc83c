// Writes docs/reference from the sources, so that it says what they do.
//   node --conditions=source scripts/generate-docs.mjs [--check]
import './require-node.cjs';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { helpOf } from '../apps/cli/src/command/help.ts';
import { COMMANDS } from '../apps/cli/src/commands/table.ts';
import { Config, REPOSITORY_GROUPS } from '../packages/daemon/src/config/schema.ts';
import { SETTINGS } from '../packages/daemon/src/config/settings.ts';
import { ERRORS } from '../packages/protocol/src/errors.ts';
import { toolsJson } from '../packages/tools/src/list.ts';

const COMMAND = 'node --conditions=source scripts/generate-docs.mjs';
const here = dirname(dirname(fileURLToPath(import.meta.url)));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const stale = findStale(here);
  if (!process.argv.includes('--check')) writeAll(here, stale);
  else if (stale.length > 0) {
    console.error(`Out of date: ${stale.join(', ')}. Write anew with \`${COMMAND}\`.`);
    process.exitCode = 1;
  }
}

/** Every page as its path and its text. */
function pages() {
  return {
    'docs/reference/commands.md': commandsPage(),
    'docs/reference/configuration.md': configurationPage(),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/tools.md': toolsPage(),
  };
}

/** The pages that are missing below a root, or say something else than the sources. */
export function findStale(root) {
  const isStale = ([path, text]) => {
    const file = join(root, path);
    return !fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text;
  };
  return Object.entries(pages())
    .filter(isStale)
    .map(([path]) => path);
}

/** Writes the named pages below a root. */
function writeAll(root, paths) {
  const texts = pages();
  for (const path of paths) {
    fs.mkdirSync(dirname(join(root, path)), { recursive: true });
    fs.writeFileSync(join(root, path), texts[path]);
    console.log(`Wrote ${path}`);
  }
}

function page(title, source, blocks) {
  const note = `<!-- Made from ${source} by \`${COMMAND}\`: change it there. -->`;
  return `${[`# ${title}`, note, ...blocks].join('\n\n')}\n`;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function cell(text) {
  return plain(text)
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');
}

/** Text that is not in backticks must not be taken for markup. */
function plain(text) {
  return text.replaceAll(/`[^`]*`|[<*]/g, (found) => (found.length > 1 ? found : `\\${found}`));
}

function code(text) {
  return `\`${text}\``;
}

function commandsPage() {
  const groups = [...Map.groupBy(COMMANDS, ({ group }) => group)];
  const blocks = groups.flatMap(([group, members]) => [`## ${group}`, ...members.flatMap(commandBlocks)]);
  const intro =
    'What `reveille <command> --help` says. Plans, tasks and requests are named by their id, by the beginning of it, or by their name; a task of a plan also as `plan/task`. [errors.md](errors.md) has the exit codes.';
  return page('Commands', 'apps/cli/src/commands', [intro, ...blocks]);
}

function commandBlocks(command) {
  // It prints a help of its own, and does not take every option that the others share.
  if (command.byItself) return [`### reveille ${command.name}`, ownWords(command), ownOptions(command)];
  return [`### reveille ${command.name}`, `\`\`\`text\n${helpOf(command).trimEnd()}\n\`\`\``];
}

function ownWords({ name, summary }) {
  return `It ${summary}. \`reveille ${name} --help\` says more.`;
}

function ownOptions({ options }) {
  const rows = Object.entries(options).map(([name, { value, means }]) => [
    code(value === undefined ? `--${name}` : `--${name} ${value}`),
    means,
  ]);
  return table(['option', 'meaning'], rows);
}

function configurationPage() {
  const groups = [...Map.groupBy(SETTINGS, ({ path }) => path[0])];
  const blocks = groups.flatMap(([group, settings]) => [
    `## ${group}`,
    `${describe(Config.shape[group])}${REPOSITORY_GROUPS.has(group) ? ' A repository may set these for itself.' : ''}`,
    table(['setting', 'meaning', 'values', 'default', 'environment'], settings.map(settingRow)),
  ]);
  const intro = [
    'A setting is looked for in this order: `--set` of `reveille daemon start`, the environment, the repository’s',
    '`.reveille/config.yaml`, your own `config.yaml`, the default. In a file the dots are levels. In the environment',
    'a value is written as in a file: `[a, b]` is a list. The [manual](../manual.md#configuration) says where the files',
    'are, and what counts today. Times are in milliseconds, sizes in bytes.',
  ].join('\n');
  return page('Configuration', 'packages/daemon/src/config/schema.ts', [intro, ...blocks]);
}

function settingRow({ path, variable, schema }) {
  return [code(path.join('.')), meaningOf(path), valuesOf(schema), presetOf(schema), code(variable)];
}

/** What a setting means without its group needs what the groups between say. */
function meaningOf(path) {
  let schema = Config;
  const words = path.map((key) => {
    schema = inside(schema).shape[key];
    return describe(schema);
  });
  return words.slice(1).join(' ');
}

/** A key without one must be given where its group is. */
function presetOf(schema) {
  const parsed = schema.safeParse(undefined);
  return parsed.success ? code(JSON.stringify(parsed.data)) : 'none';
}

function valuesOf(schema) {
  const whole = schema.toJSONSchema({ io: 'input' });
  const words = valueWords(whole.anyOf?.[0] ?? whole);
  return whole.anyOf?.some(({ type }) => type === 'null') ? `${words}, or null` : words;
}

function valueWords({ minimum, maximum, type, enum: choices }) {
  if (choices) return choices.map(code).join(', ');
  const named = {
    string: 'text',
    boolean: 'true, false',
    array: 'list of texts',
    object: 'names, each with a list',
  };
  if (minimum === undefined) return named[type];
  const hasEnd = maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER;
  return hasEnd ? `${minimum} to ${maximum}` : `${minimum} or more`;
}

function describe(schema) {
  return schema.description ?? '';
}

/** Without what says that it may be absent or null. */
function inside(schema) {
  return schema.shape || !schema.unwrap ? schema : inside(schema.unwrap());
}

function errorsPage() {
  const rows = Object.entries(ERRORS).map(([name, { http, exit, means }]) => [
    code(name),
    means,
    String(http),
    String(exit),
  ]);
  const intro =
    'Every error has one of these codes: in `--json` as `error.code`, over HTTP in the body, to a tool’s caller in its result. The words of a message may change; a code does not.';
  return page('Errors', 'packages/protocol/src/errors.ts', [
    intro,
    table(['code', 'meaning', 'HTTP', 'exit code'], rows),
  ]);
}

function toolsPage() {
  const intro =
    'What agents and chats call, over MCP too. A worker is an agent with a task, a session is a chat, a person is you.';
  return page('Tools', 'packages/tools', [intro, ...toolsJson().flatMap(toolBlocks)]);
}

function toolBlocks({ name, title, description, inputSchema, annotations, callers }) {
  const inputs = Object.entries(inputSchema.properties ?? {});
  const required = new Set(inputSchema.required ?? []);
  const effect = annotations.readOnly ? 'reads' : annotations.destructive ? 'can destroy' : 'changes';
  const rows = inputs.map(([key, schema]) => [
    code(key),
    required.has(key) ? 'yes' : '',
    typeWords(schema),
    schema.default === undefined ? '' : code(JSON.stringify(schema.default)),
    schema.description ?? '',
  ]);
  return [
    `## ${name}`,
    `${title} · for: ${callers.join(', ')} · ${effect}`,
    ...description.split('\n').map(sentence),
    rows.length > 0 ? table(['input', 'required', 'type', 'default', 'meaning'], rows) : 'It takes no input.',
  ];
}

function sentence(line) {
  const [, example] = /^Example: (\{.*\})$/.exec(line) ?? [];
  return example === undefined ? plain(line) : `Example: ${code(example)}`;
}

function typeWords({ type, items, anyOf, oneOf, enum: choices }) {
  if (choices) return choices.map(code).join(', ');
  const either = anyOf ?? oneOf;
  if (either) return [...new Set(either.map(typeWords))].join(' or ');
  if (type === 'array') return `list of ${typeWords(items ?? {})}`;
  return [type ?? 'anything'].flat().join(' or ');
}
