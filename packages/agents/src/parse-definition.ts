import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { nearest, parseAgentType } from '@reveille/protocol';
import { approvalsOf } from './approvals.ts';
import { shown, type AgentDefinition, type Place, type Problem } from './definition.ts';
import { plainKey, readFrontMatter, type FrontMatter, type Note } from './front-matter.ts';
import { bullets, firstParagraph, oneLine, section, withoutSection } from './sections.ts';
import { SPAWNING, WRITING_TOOLS, isReadOnly, namedTools } from './tool-names.ts';

export interface DefinitionFile {
  readonly path: string;
  readonly place: Place;
  readonly format: AgentDefinition['format'];
  readonly content: string;
}

export interface ParsedDefinition {
  /** Null when something about the file is an error. */
  readonly definition: AgentDefinition | null;
  readonly problems: readonly Problem[];
}

/** The keys that mean something here. */
const OURS = [
  'name',
  'description',
  'tools',
  'disallowedTools',
  'agents',
  'model',
  'backend',
  'expertise',
  'triggers',
  'when-to-use',
  'reports-by-last-message',
  'suggest',
  'disable-model-invocation',
  'permissionMode',
  'approvals',
];
/** Keys of the two formats that steer their own products and nothing here. */
const THEIRS =
  'argument-hint user-invocable user-invokable target mcp-servers handoffs hooks infer maxTurns skills memory ' +
  'background isolation color omitClaudeMd effort initialPrompt metadata version license author tags category mode title';
const KNOWN_KEYS = new Set([...OURS, ...THEIRS.split(' ')].map(plainKey));
const LONGEST = { description: 4_000, text: 4_000, entry: 200 } as const;

/** Reads one file of either format into the one form that everything else uses. */
export function parseDefinition(file: DefinitionFile): ParsedDefinition {
  const text = file.content.replace(/^\uFEFF/, '');
  const matter = readFrontMatter(text);
  if (!matter) {
    const message =
      'there is no front matter: the file begins with a line "---", then `description: …`, then "---"';
    return {
      definition: null,
      problems: [{ path: file.path, line: 1, column: 1, severity: 'error', message }],
    };
  }
  // What could not be read at all has no further faults worth telling.
  const definition = matter.failed ? null : define(file, matter);
  matter.notes.push(...invisible(text));
  const problems = matter.notes.map((note) => ({ path: file.path, ...note }));
  return { definition: matter.failed ? null : definition, problems };
}

function define(file: DefinitionFile, matter: FrontMatter): AgentDefinition {
  const instructions = matter.body.trim();
  const tools = toolsOf(matter);
  warnOfUnknownKeys(matter);
  const description = descriptionOf(matter, instructions);
  return {
    name: nameOf(matter, file),
    description,
    role: section(instructions, ['role']) || description,
    instructions,
    expertise: bounded(matter.list('expertise') ?? bullets(section(instructions, ['expertise']))),
    whenToUse: oneLine(matter.text('when-to-use') ?? section(instructions, WHEN_TO_USE), LONGEST.text),
    triggers: bounded(matter.list('triggers') ?? bullets(section(instructions, ['triggers']))),
    delegation: section(instructions, DELEGATION),
    ...tools,
    readOnly: isReadOnly(tools.tools, tools.deniedTools),
    approvals: approvalsOf(matter),
    model: modelOf(matter),
    backend: backendOf(matter),
    reportsByLastMessage: matter.flag('reports-by-last-message') ?? false,
    suggested: (matter.flag('suggest') ?? true) && matter.flag('disable-model-invocation') !== true,
    place: file.place,
    path: file.path,
    format: file.format,
    hash: createHash('sha256').update(file.content).digest('hex'),
  };
}

const WHEN_TO_USE = ['when to use', 'when to delegate to this agent', 'when to use this agent'];
const DELEGATION = [
  'delegation',
  'delegation guidance',
  'when to delegate',
  'when to delegate vs do it yourself',
];

/** The instructions of a definition without its words on handing work on. */
export const withoutGuidance = (instructions: string): string => withoutSection(instructions, DELEGATION);

const bounded = (entries: readonly string[]): string[] =>
  entries.map((entry) => entry.slice(0, LONGEST.entry));

/**
 * The name of the front matter, or of the file. In the format of VS Code it is a title for people, so where it cannot
 * be a name, the file's can.
 */
function nameOf(matter: FrontMatter, { path, format }: DefinitionFile): string {
  const written = matter.text('name');
  const file = basename(path).replace(/(\.agent)?\.md$/, '');
  if (written === null && format === 'claude' && !matter.has('name'))
    matter.note('name', 'error', 'there is no name: add a line `name: …`');
  const name = legalName(written ?? file) ?? (format === 'vscode' ? legalName(file) : null);
  if (name === null) {
    const reason = 'a name is a letter and then letters, digits, "-" or "_", at most 64 in all';
    matter.note('name', 'error', `${shown(written ?? file)} cannot be the name of an agent: ${reason}`);
  } else if (written !== null && legalName(written) === null) {
    matter.note(
      'name',
      'warning',
      `${shown(written)} cannot be a name; the agent is called ${name}, as its file is`,
    );
  }
  return name ?? '';
}

/** Case does not count in a name, and a blank is written as a hyphen. Null if it is no name even so. */
export function legalName(text: string): string | null {
  const name = text.trim().toLowerCase().replaceAll(' ', '-');
  const type = parseAgentType(name, '');
  return type?.backend === '' && type.name === name ? name : null;
}

function descriptionOf(matter: FrontMatter, instructions: string): string {
  const written = matter.text('description');
  if (written !== null && written.length > LONGEST.description)
    matter.note('description', 'error', `the description is longer than ${LONGEST.description} characters`);
  const description = oneLine(written ?? firstParagraph(instructions), LONGEST.description);
  if (description === '')
    matter.note('description', 'error', 'there is no description: add a line `description: …`');
  if (instructions === '')
    matter.note('description', 'error', 'there are no instructions below the front matter');
  return description;
}

function modelOf(matter: FrontMatter): string | null {
  const [model] = matter.has('model') ? (matter.list('model') ?? []) : [];
  if (model === undefined || /^(inherit|default)$/i.test(model)) return null;
  if (model.length > 120) matter.note('model', 'error', 'the name of a model has at most 120 characters');
  return model;
}

function backendOf(matter: FrontMatter): string | null {
  const backend = matter.text('backend')?.toLowerCase() ?? null;
  if (backend === null || /^[a-z][a-z0-9_-]{0,39}$/.test(backend)) return backend;
  matter.note('backend', 'error', `${shown(backend)} cannot be the name of a backend`);
  return null;
}

type Tools = Pick<AgentDefinition, 'tools' | 'deniedTools' | 'delegatesTo'>;

/** No list of tools means all of them, in both formats. */
function toolsOf(matter: FrontMatter): Tools {
  const named = (matter.list('tools') ?? ['*']).map((entry) => ({ entry, ...namedTools(entry) }));
  for (const { warning } of named) if (warning) matter.note('tools', 'warning', warning);
  // What denies a part of a tool cannot be held in part either: the whole tool is denied.
  const denied = (matter.list('disallowedTools') ?? []).map((entry) =>
    namedTools(entry.endsWith(')') ? (entry.split('(', 1)[0] ?? '') : entry),
  );
  for (const { warning } of denied) if (warning) matter.note('disallowedTools', 'warning', warning);
  const planning = matter.text('permissionMode') === 'plan';
  const spawns = spawnsOf(
    matter,
    named.flatMap(({ agents }) => agents ?? []),
  );
  const refused = [
    ...denied.flatMap(({ tools }) => tools),
    ...(planning ? WRITING_TOOLS : []),
    ...(spawns?.length === 0 ? SPAWNING : []),
  ];
  return {
    tools: unique(named.flatMap(({ tools }) => tools)),
    deniedTools: unique(refused),
    delegatesTo: spawns,
  };
}

/** Whom it may spawn: null is anybody, an empty list nobody. */
function spawnsOf(matter: FrontMatter, ofTools: readonly string[]): string[] | null {
  const listed = matter.list('agents');
  if (listed?.includes('*') || (listed === null && ofTools.length === 0)) return null;
  const names = [...(listed ?? []), ...ofTools].map((name) => ({
    name,
    legal: legalName(name.replace(/^@/, '')),
  }));
  for (const { name, legal } of names)
    if (legal === null) matter.note('agents', 'warning', `${shown(name)} cannot be the name of an agent`);
  return unique(names.flatMap(({ legal }) => legal ?? []));
}

const unique = (names: readonly string[]): string[] => [...new Set(names)];

function warnOfUnknownKeys(matter: FrontMatter): void {
  for (const key of matter.keys().filter((written) => !KNOWN_KEYS.has(plainKey(written))))
    matter.note(key, 'warning', `${shown(key)} means nothing here; nearest: ${nearest(key, OURS)[0]}`);
}

/**
 * Characters that are not seen, or turn what is seen around: a person who trusts a file must see what a model reads.
 */
function invisible(text: string): Note[] {
  const match = /[\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/u.exec(text);
  if (!match) return [];
  const before = text.slice(0, match.index).split('\n');
  const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase();
  const message = `there is an invisible character here (U+${code}): what you see is not what a model reads`;
  return [{ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, severity: 'warning', message }];
}
