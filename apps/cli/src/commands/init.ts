import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join, relative, sep } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { nearest } from '@reveille/protocol';
import { agentsOf } from '../agents.ts';
import { command, type Call } from '../command/spec.ts';
import type { Written } from '../init/files.ts';
import type { ClientName, Launch } from '../init/mcp-entries.ts';
import { PROGRAM, ROOT } from '../program.ts';
import { print } from '../reach.ts';
import { repositoryOf, type Repository } from '../repository.ts';
import { say } from '../say.ts';
import { broughtHere, trustIn, type Brought, type Trusted, type TrustItem } from '../trusted.ts';
import { UsageError } from '../usage.ts';
import { pad } from '../view/columns.ts';

export const init = command({
  name: 'init',
  group: 'Begin',
  summary: 'sets a repository up: settings, an example plan, a place for agents',
  usage: '',
  about: `Writes .reveille/ into the repository you are in; what is there is never overwritten. Then it lists what the
repository brings along that would be run, loaded, copied or shown to agents (its settings, its agents, the files that
.worktreeinclude names, objects it borrows, commands in .git/config) and asks whether you trust it as it is now; what changes later has to be trusted again. Run it as often as you like.`,
  options: {
    mcp: {
      type: 'string',
      value: 'CLIENTS',
      means: 'also write MCP entries: claude, vscode, codex, gemini, separated by commas',
    },
    claude: { type: 'boolean', means: 'also say how to add the plugin for Claude Code' },
    yes: { type: 'boolean', short: 'y', means: 'trust what was found without being asked' },
  },
  json: '{ repository, files: [{ path, what: "written" | "kept" | "changed" | "left", note }], trust: [{ kind, name, path, means, trusted }], plugin: the lines to type | null }',
  async run(call) {
    const clients = clientsOf(call.options.mcp);
    const repository = await repositoryOf(call);
    const { writeOwnFiles } = await import('../init/files.ts');
    const { writeEntry } = await import('../init/mcp-entries.ts');
    const launch = launchOf(call);
    // First of all: nothing is written into a repository that is refused.
    const brought = await broughtHere(call.io, repository);
    const files = [
      ...writeOwnFiles(repository.top),
      ...clients.map((client) => writeEntry(repository.top, client, withClient(launch, client))),
    ];
    if (!call.options.json) for (const line of fileLines(repository, files)) say(call.io.out, line);
    const trust = await askTrust(call, repository, brought);
    const plugin = call.options.claude ? pluginLines() : null;
    print(call, { repository: repository.top, files, trust, plugin }, () => [
      ...nextLines(trust),
      ...(plugin ? ['For Claude Code, once:', ...plugin.map((line) => `  ${line}`)] : []),
    ]);
  },
});

const NAMES = ['claude', 'vscode', 'codex', 'gemini'] as const satisfies readonly ClientName[];

function clientsOf(text: string | undefined): readonly ClientName[] {
  const wanted = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return wanted.map((name) => {
    const known = NAMES.find((client) => client === name);
    if (known) return known;
    const [best] = nearest(name, NAMES);
    throw new UsageError(
      `--mcp knows ${NAMES.join(', ')}, not "${name.slice(0, 40)}". Did you mean ${best}?`,
      'init',
    );
  });
}

/** By name, if a shell would find it later too, which is not so for what npx fetched; else by where this one is. */
function launchOf({ io }: Call): Launch {
  const found = onPath(io.env['PATH'] ?? '');
  const lasts = found !== undefined && !found.includes(`${sep}_npx${sep}`);
  return { command: lasts ? 'reveille' : PROGRAM, args: ['mcp'] };
}

function onPath(path: string): string | undefined {
  return path.split(delimiter).find((folder) => {
    try {
      accessSync(join(folder, 'reveille'), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}

/** Only Claude Code itself should change what it has installed. */
function pluginLines(): string[] {
  return [`claude plugin marketplace add ${shellWord(ROOT)}`, 'claude plugin install reveille@reveille'];
}

const shellWord = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

const withClient = ({ command: program, args }: Launch, client: ClientName): Launch => ({
  command: program,
  args: [...args, '--client', client],
});

const fileLines = ({ top }: Repository, files: readonly Written[]): string[] => [
  `In ${top}:`,
  ...files.map(
    ({ path, what, note }) =>
      `  ${pad(what, 7)}  ${path}${note === '' ? '' : `: ${note.replaceAll('\n', '\n    ')}`}`,
  ),
];

interface TrustQuestion {
  readonly item: TrustItem;
  readonly path: string;
  /** What it would do, a line each; none where the file says it. */
  readonly means: readonly string[];
  readonly trusted: boolean;
}
type TrustAnswer = Pick<TrustItem, 'kind' | 'name'> & Omit<TrustQuestion, 'item'>;

/** Lists what the repository brings along, and records what the person agrees to. */
async function askTrust(
  call: Call,
  repository: Repository,
  brought: Brought,
): Promise<readonly TrustAnswer[]> {
  const trust = await trustIn(call.io, repository);
  const found = await findItems(call, repository, trust, brought);
  const open = found.filter(({ trusted }) => !trusted);
  if (!call.options.json && open.length > 0) {
    say(call.io.out, 'It brings along, and you have not trusted yet:');
    for (const { item, path, means } of open) {
      say(call.io.out, `  ${pad(item.kind, 7)}  ${pad(item.name, 24)}  ${path}`);
      for (const line of means) say(call.io.out, `           ${line}`);
    }
  }
  const agreed = open.length > 0 && (await agrees(call, open.length));
  if (agreed) await trust.grant(open.flatMap(({ item }) => (item.kind === 'home' ? [] : [item])));
  if (agreed && open.some(({ item }) => item.kind === 'home')) await brought.adoptHome();
  return found.map(({ item: { kind, name }, path, means, trusted }) => ({
    kind,
    name,
    path,
    means,
    trusted: trusted || agreed,
  }));
}

async function findItems(
  { io }: Call,
  repository: Repository,
  trust: Trusted,
  brought: Brought,
): Promise<TrustQuestion[]> {
  const { repositoryItem, saysNothing } = await import('@reveille/daemon/config');
  using agents = await agentsOf(io, repository);
  const definitions = agents.list().filter(({ definition }) => definition.place === 'repository');
  const config = join(repository.top, '.reveille', 'config.yaml');
  const settings = readFileSync(config, 'utf8');
  const inTop = (path: string): string => relative(repository.top, path);
  const items = [
    ...(saysNothing(settings) ? [] : [{ item: repositoryItem(settings), path: inTop(config), means: [] }]),
    ...definitions.map(({ definition: { name, path } }) => ({
      item: { kind: 'agent' as const, name, content: readFileSync(path, 'utf8') },
      path: inTop(path),
      means: [],
    })),
    ...brought.items,
  ];
  return [...items.map((each) => ({ ...each, trusted: trust.has(each.item) })), ...brought.home];
}

async function agrees(
  { io, options }: Call & { readonly options: { readonly yes?: boolean } },
  count: number,
): Promise<boolean> {
  if (options.yes) return true;
  // Nobody is there to be asked.
  if (options.json || !io.in.isTTY || !io.out.isTTY) return false;
  const lines = createInterface({ input: io.in, output: process.stdout });
  try {
    const answer = await lines.question(
      `Trust ${count === 1 ? 'it as it is' : `these ${count} as they are`} now? [y/N] `,
    );
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

function nextLines(trust: readonly TrustAnswer[]): string[] {
  const next = 'Next: reveille plan run .reveille/plans/example.yaml';
  const open = trust.filter(({ trusted }) => !trusted).length;
  if (open === 0)
    return [...(trust.length > 0 ? ['All that it brings along is trusted as it is now.'] : []), next];
  const what = open === 1 ? 'One thing is not trusted and does' : `${open} things are not trusted and do`;
  return [`${what} not count until you say so (reveille init --yes).`, next];
}
