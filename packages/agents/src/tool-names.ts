import { isGranted, matchesTool, nearest } from '@reveille/protocol';

/** The tools of the catalogue, by what they can do to a worktree. */
const READING = [
  'read_file',
  'list_directory',
  'search_text',
  'navigate_to_symbol',
  'find_usages',
  'explore_module',
  'document_outline',
  'type_of',
  'load_skill',
] as const;
const DELEGATING = [
  'a2a_list_agents',
  'a2a_list_specialists',
  'a2a_spawn_subtask',
  'a2a_spawn_parallel_subtasks',
  'a2a_await_subtasks',
  'a2a_send_message',
  'a2a_subtask_status',
  'a2a_cancel_subtask',
  'a2a_retry_subtask',
  'a2a_subtask_diff',
  'a2a_discard_subtask',
] as const;
/** What every worker needs, whatever its definition says (AGT4); the last gives the rest of an output that was cut. */
export const WORKER_TOOLS = [
  'a2a_subtask_complete',
  'a2a_notify_parent',
  'a2a_check_updates',
  'read_more',
] as const;
const ORCHESTRATING = [
  'orchestrator_save_plan',
  'orchestrator_add_plan_task',
  'orchestrator_start_plan',
  'orchestrator_pause_plan',
  'orchestrator_resume_plan',
  'orchestrator_list_workers',
  'orchestrator_deploy_task',
  'orchestrator_complete_task',
  'orchestrator_cancel_task',
  'orchestrator_retry_task',
  'orchestrator_answer',
] as const;
/** A command can write wherever the worktree can be written, and so can a merge of a child's work. */
const WRITING = [
  'create_file',
  'edit_file',
  'delete_file',
  'run_command',
  'run_tests',
  'a2a_pull_subtask_changes',
] as const;
/** Tools of the vendors that have no counterpart in the catalogue and touch no file. */
const OUTSIDE = ['web_fetch', 'web_search', 'todo'] as const;

export const SPAWNING: readonly string[] = ['a2a_spawn_subtask', 'a2a_spawn_parallel_subtasks'];

/** Every name of the catalogue that a definition may use. */
export const TOOL_NAMES: readonly string[] = [
  ...READING,
  ...WRITING,
  ...DELEGATING,
  ...WORKER_TOOLS,
  ...ORCHESTRATING,
];
const HARMLESS = new Set<string>([
  ...READING,
  ...DELEGATING,
  ...WORKER_TOOLS,
  ...ORCHESTRATING,
  ...OUTSIDE,
  'orchestrator_*',
]);

const NAVIGATION = ['navigate_to_symbol', 'find_usages', 'explore_module', 'document_outline', 'type_of'];
const SEARCH = ['search_text', 'list_directory', ...NAVIGATION];
const EDIT = ['create_file', 'edit_file', 'delete_file'];
const NOTHING: string[] = [];

/**
 * The names the vendors use, in ours; but for two of them their case does not matter. Sources: the tool references of Claude Code, of VS Code (tool
 * sets, tools, and their names before there were sets) and of Copilot's custom agents. An empty list is a tool that
 * exists there and that a worker here has no use for.
 */
const ALIASES = new Map<string, readonly string[]>(
  Object.entries({
    // Claude Code. Its `Read` and `Edit` are narrower than the sets of VS Code, which differ by their case alone.
    Read: ['read_file'],
    Edit: ['edit_file'],
    notebookread: ['read_file'],
    ls: ['list_directory'],
    glob: ['list_directory'],
    grep: ['search_text'],
    lsp: NAVIGATION,
    write: ['create_file'],
    multiedit: ['edit_file'],
    notebookedit: ['edit_file'],
    bash: ['run_command'],
    bashoutput: ['run_command'],
    killshell: ['run_command'],
    skill: ['load_skill'],
    task: [...DELEGATING],
    agent: [...DELEGATING],
    sendmessage: ['a2a_send_message'],
    webfetch: ['web_fetch'],
    websearch: ['web_search'],
    todowrite: ['todo'],
    todoread: ['todo'],
    askuserquestion: NOTHING,
    exitplanmode: NOTHING,
    toolsearch: NOTHING,
    // VS Code and Copilot: sets
    read: ['read_file', 'list_directory'],
    edit: EDIT,
    search: SEARCH,
    execute: ['run_command', 'run_tests'],
    shell: ['run_command'],
    powershell: ['run_command'],
    web: ['web_fetch', 'web_search'],
    todo: ['todo'],
    todos: ['todo'],
    'custom-agent': [...DELEGATING],
    vscode: NOTHING,
    // VS Code: tools
    readfile: ['read_file'],
    problems: NOTHING,
    changes: NOTHING,
    codebase: SEARCH,
    filesearch: ['list_directory'],
    listdirectory: ['list_directory'],
    textsearch: ['search_text'],
    searchresults: ['search_text'],
    usages: NAVIGATION,
    findtestfiles: ['search_text', 'list_directory'],
    createfile: ['create_file'],
    createdirectory: ['create_file'],
    editfiles: EDIT,
    editnotebook: ['edit_file'],
    runcommands: ['run_command'],
    runinterminal: ['run_command'],
    getterminaloutput: ['run_command'],
    terminallastcommand: NOTHING,
    terminalselection: NOTHING,
    runtasks: ['run_command'],
    createandruntask: ['run_command'],
    runtests: ['run_tests'],
    runnotebooks: ['run_command'],
    testfailure: ['run_tests'],
    runsubagent: [...DELEGATING],
    fetch: ['web_fetch'],
    githubrepo: ['web_fetch'],
    opensimplebrowser: ['web_fetch'],
    vscodeapi: NOTHING,
    extensions: NOTHING,
    think: NOTHING,
    new: ['create_file'],
  }),
);
const SETS = new Set(['read', 'edit', 'search', 'execute', 'agent', 'web', 'vscode', 'todo']);

export interface NamedTools {
  readonly tools: readonly string[];
  /** `Agent(reviewer, tester)`: the only agents it may spawn. */
  readonly agents?: readonly string[];
  readonly warning?: string;
}

/** No name of a tool is longer. */
const LONGEST = 400;

/** One entry of a definition's tools in our names, or why it counts for nothing. */
export function namedTools(entry: string): NamedTools {
  if (entry === '*') return { tools: ['*'] };
  const specified = /^([A-Za-z]+)\((.*)\)$/s.exec(entry);
  if (specified) return narrowed(specified[1] ?? '', specified[2] ?? '');
  if (TOOL_NAMES.includes(entry) || entry === 'a2a_*' || entry === 'orchestrator_*')
    return { tools: [entry] };
  const mcp = entry.length <= LONGEST ? /^mcp__([\w.-]+?)(?:__([\w.*-]+))?$/.exec(entry) : null;
  if (mcp) return { tools: [`mcp:${mcp[1]}/${mcp[2] ?? '*'}`] };
  const [set, tool] = entry.split('/');
  if (tool !== undefined && !SETS.has(set ?? '')) {
    if (/^[\w.-]+\/[\w.*-]+$/.test(entry)) return { tools: [`mcp:${entry}`] };
    return { tools: [], warning: `${JSON.stringify(entry.slice(0, 60))} is not the name of a tool` };
  }
  const name = (tool === undefined || tool === '*' ? set : tool) ?? '';
  const alias = ALIASES.get(name) ?? ALIASES.get(name.toLowerCase());
  return alias ? { tools: alias } : { tools: [], warning: unknownTool(entry) };
}

/** `Bash(git *)`: no backend but the vendor's own can hold that, so the tool is not given at all. */
function narrowed(name: string, specifier: string): NamedTools {
  if (/^(agent|task)$/i.test(name)) {
    const agents = specifier.split(',').map((agent) => agent.trim().toLowerCase());
    return { tools: DELEGATING, agents: agents.filter((agent) => agent !== '') };
  }
  return {
    tools: [],
    warning: `${name}(…) allows only some uses of ${name}, which cannot be held here; it is not given. Name ${name} alone to give it`,
  };
}

function unknownTool(entry: string): string {
  const near = nearest(entry, TOOL_NAMES).slice(0, 3).join(', ');
  return `there is no tool ${JSON.stringify(entry.slice(0, 60))}; nearest: ${near}`;
}

/** Whoever has no tool that could write is read-only. What is not known to be harmless may write. */
export function isReadOnly(tools: readonly string[], denied: readonly string[]): boolean {
  const refused = (tool: string): boolean => denied.some((pattern) => matchesTool(pattern, tool));
  if (tools.includes('*')) return WRITING.every(refused) && tools.every((tool) => !tool.startsWith('mcp:'));
  return tools.every(
    (tool) =>
      refused(tool) || HARMLESS.has(tool) || (tool === 'a2a_*' && refused('a2a_pull_subtask_changes')),
  );
}

/**
 * The tools of a run out of those that exist, in their order: exactly what the definition allows, and what every
 * worker needs (AGT4). `*` does not hold the orchestrator's tools: whoever is to have them names them.
 */
export function allowedTools(
  definition: { readonly tools: readonly string[]; readonly deniedTools: readonly string[] },
  existing: readonly string[],
): string[] {
  return existing.filter((name) => {
    if (WORKER_TOOLS.some((needed) => needed === name)) return true;
    return isGranted(definition, name);
  });
}

/** What `permissionMode: plan` takes away: everything that could write. */
export const WRITING_TOOLS: readonly string[] = WRITING;
