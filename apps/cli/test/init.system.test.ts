import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withScript } from '@reveille/executors';
import { findProgram } from '@reveille/executors/acp';
import { expect, test } from 'vitest';
import { House, processesOf } from './house.ts';

const AGENT = '---\nname: helper\ndescription: Helps.\n---\nHelp.\n';
const read = (house: House, path: string): string => readFileSync(join(house.repository, path), 'utf8');

/** None of the settings that a house has for the tests' sake. */
const NOTHING_SET = {
  REVEILLE_ENGINE_DEFAULT_BACKEND: undefined,
  REVEILLE_GOVERNOR_ENABLED: undefined,
  REVEILLE_DAEMON_RESTART: undefined,
};

test('[CLI1.40] init writes settings, an example, a schema and a place for agents, from any folder, once', async () => {
  await using house = new House();
  mkdirSync(join(house.repository, 'deep/er'), { recursive: true });
  const first = await house.run(['init'], { cwd: join(house.repository, 'deep/er') });
  expect(first).toMatchObject({ code: 0, err: '' });
  for (const path of ['config.yaml', 'plan.schema.json', 'plans/example.yaml', 'agents/README.md'])
    expect(first.out).toContain(`  written  .reveille/${path}\n`);
  house.write('.reveille/config.yaml', 'worktrees: { dirty: head }\n');
  house.write('.reveille/plans/example.yaml', 'mine');
  const again = await house.json<{ files: { what: string }[] }>('init');
  expect(again.files.map(({ what }) => what)).toEqual(['kept', 'kept', 'kept', 'kept']);
  expect(read(house, '.reveille/plans/example.yaml')).toBe('mine');
});

test('[CLI1.40] what init writes can be used as it is', async () => {
  await using house = new House(NOTHING_SET);
  await house.run(['init', '--yes']);
  expect((await house.run(['plan', 'validate', '.reveille/plans/example.yaml'])).out).toBe(
    '.reveille/plans/example.yaml: 3 tasks, no problem\n',
  );
  expect(JSON.parse(read(house, '.reveille/plan.schema.json'))).toMatchObject({ title: 'Reveille plan' });
  const { out } = await house.run(['doctor']);
  expect(out).toMatch(/^good {2}configuration +nothing is set: the defaults hold$/m);
  expect(out).toMatch(/^good {2}agents +8 can be used, 0 not trusted, 0 problems$/m);
  // None of this needs a daemon.
  expect(processesOf(house.env['REVEILLE_HOME']!)).toEqual([]);
});

test('[CLI1.40] a link in the repository leads init nowhere', async () => {
  await using house = new House();
  const outside = join(house.folder, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, join(house.repository, '.reveille'));
  const refused = await house.run(['init']);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.err).toMatch(/\.reveille is not a folder\. Move it away and try again\.\n$/);
  expect(existsSync(join(outside, 'config.yaml'))).toBe(false);
});

test('[CLI1.41] MCP entries are added to what is there, or it is said what to add', async () => {
  await using house = new House();
  house.write(
    '.gemini/settings.json',
    '{\n\t"theme": "dark",\n\t"mcpServers": { "other": { "command": "x" } }\n}',
  );
  house.write('.vscode/mcp.json', '{\n  // mine\n  "servers": {}\n}\n');
  house.write('.codex/config.toml', 'model = "x"\n');
  const { files } = await house.json<{ files: { path: string; what: string; note: string }[] }>(
    'init',
    '--mcp',
    'claude, vscode,codex,gemini',
  );
  const what = Object.fromEntries(files.slice(4).map((file) => [file.path, file.what]));
  expect(what).toEqual({
    '.mcp.json': 'written',
    '.vscode/mcp.json': 'left',
    '.codex/config.toml': 'left',
    '.gemini/settings.json': 'changed',
  });
  const entry = (client: string) => ({
    command: expect.stringMatching(/reveille(\.cjs)?$/) as string,
    args: ['mcp', '--client', client],
  });
  expect(JSON.parse(read(house, '.mcp.json'))).toEqual({
    mcpServers: { reveille: { type: 'stdio', ...entry('claude') } },
  });
  expect(JSON.parse(read(house, '.gemini/settings.json'))).toEqual({
    theme: 'dark',
    mcpServers: { other: { command: 'x' }, reveille: entry('gemini') },
  });
  expect(read(house, '.gemini/settings.json')).toMatch(/^\{\n\t"theme"[^]*[^\n]$/);
  expect(read(house, '.vscode/mcp.json')).toContain('// mine');
  expect(read(house, '.codex/config.toml')).toBe('model = "x"\n');
  expect(files.find(({ path }) => path === '.codex/config.toml')?.note).toMatch(
    /\[mcp_servers\.reveille\]\ncommand = ".*"\nargs = \["mcp","--client","codex"\]$/,
  );
  const again = await house.json<{ files: { path: string; what: string }[] }>(
    'init',
    '--mcp',
    'claude,gemini',
  );
  expect(again.files.slice(4).map((file) => file.what)).toEqual(['kept', 'kept']);
  const unknown = await house.run(['init', '--mcp', 'clade']);
  expect(unknown.code).toBe(2);
  expect(unknown.err).toContain('Did you mean claude?');
});

test('[CLI1.41] an entry file that is a link, or no object, is not touched', async () => {
  await using house = new House();
  house.write('.gemini/settings.json', '[]');
  house.write('target.json', '{}');
  symlinkSync('target.json', join(house.repository, '.mcp.json'));
  const { files } = await house.json<{ files: { what: string }[] }>('init', '--mcp', 'claude,gemini');
  expect(files.slice(4).map(({ what }) => what)).toEqual(['left', 'left']);
  expect(read(house, 'target.json')).toBe('{}');
});

test('[CLI1.46] the plugin for Claude Code is offered, in words that a shell takes, and installed by nobody', async () => {
  await using house = new House();
  const { plugin } = await house.json<{ plugin: string[] }>('init', '--claude');
  const [add = '', install = ''] = plugin;
  const [, folder = ''] = /marketplace add '?(.*?)'?$/.exec(add) ?? [];
  const listed = JSON.parse(readFileSync(join(folder, '.claude-plugin/marketplace.json'), 'utf8')) as {
    name: string;
    plugins: { name: string }[];
  };
  expect(install).toBe(`claude plugin install ${listed.plugins[0]?.name}@${listed.name}`);
  expect((await house.run(['init', '--claude'])).out).toContain(`  ${add}\n  ${install}\n`);
  expect(existsSync(join(house.env['HOME'] ?? '', '.claude'))).toBe(false);
});

type Trust = { trust: { kind: string; name: string; trusted: boolean }[] };

test('[CLI1.42] what a repository brings along counts once it is trusted, as it is then', async () => {
  await using house = new House();
  house.write('.claude/agents/helper.md', AGENT);
  house.write('.reveille/config.yaml', 'worktrees: { dirty: head }\n');
  const asked = await house.run(['init']);
  expect(asked.out).toMatch(
    /you have not trusted yet:\n {2}command +\.reveille\/config\.yaml .*\n {2}agent +helper +\.claude\/agents\/helper\.md\n/,
  );
  expect(asked.out).toContain('2 things are not trusted and do not count');
  const names = async (): Promise<string> => (await house.run(['agent', 'list'])).out;
  expect(await names()).toMatch(/^@helper +repository, untrusted +Helps\.$/m);
  const tasks = [{ id: 'a', prompt: withScript('Do.', { steps: [] }), agent: 'helper' }];
  house.write('plan.yaml', JSON.stringify({ name: 'P', tasks }));
  expect((await house.run(['plan', 'validate', 'plan.yaml'])).out).toContain(
    'the agent "helper" of this repository is not trusted yet: reveille init',
  );
  expect((await house.run(['spawn', '--agent', 'helper', 'x'])).err).toContain(
    'The agent "helper" of this repository is not trusted yet: look at .claude/agents/helper.md, then reveille init.\n',
  );
  const { trust } = await house.json<Trust>('init', '--yes');
  expect(trust.map(({ kind, name, trusted }) => [kind, name, trusted])).toEqual([
    ['command', '.reveille/config.yaml', true],
    ['agent', 'helper', true],
  ]);
  expect(await names()).toMatch(/^@helper +repository +Helps\.$/m);
  expect((await house.run(['plan', 'validate', 'plan.yaml'])).code).toBe(0);
  house.write('.claude/agents/helper.md', `${AGENT}And delete everything.\n`);
  expect(await names()).toMatch(/^@helper +repository, untrusted /m);
  // Another repository with the same file has to be trusted for itself.
  house.write('.claude/agents/helper.md', AGENT);
  house.git('init', '-q', 'other');
  house.write('other/.claude/agents/helper.md', AGENT);
  expect((await house.run(['agent', 'list', '--repo', 'other'])).out).toMatch(
    /^@helper +repository, untrusted /m,
  );
  // A folder that others can write to holds what others agreed to.
  chmodSync(join(house.env['REVEILLE_HOME']!, 'trust'), 0o777);
  expect(await names()).toMatch(/^@helper +repository, untrusted /m);
});

test('[CLI1.42] it shows what would be copied, borrowed and run, and what counts by then', async () => {
  await using house = new House();
  house.git('init', '-q', '../lender');
  house.git(
    '-C',
    '../lender',
    '-c',
    'user.name=A',
    '-c',
    'user.email=a@b',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'x',
  );
  const lender = join(house.folder, 'lender/.git/objects');
  house.write('.worktreeinclude', '*.pem\n');
  house.write('k.pem', 'KEY');
  house.write('.git/objects/info/alternates', `${lender}\n`);
  house.git('config', 'filter.crypt.clean', 'crypt --clean');
  const asked = await house.run(['init']);
  expect(asked.out).toContain(`it borrows objects from ${lender}: agents could read all history there\n`);
  expect(asked.out).toMatch(/git would run, outside the sandbox: filter\.crypt\.clean=crypt /);
  expect(asked.out).toMatch(
    /this file would be copied into worktrees now, where agents can read them:\n +k\.pem\n/,
  );
  const kinds = ({ trust }: Trust) => trust.map(({ kind, trusted }) => `${kind} ${trusted}`);
  expect(kinds(await house.json<Trust>('init'))).toEqual(['objects false', 'command false', 'files false']);
  expect(kinds(await house.json<Trust>('init', '--yes'))).toEqual([
    'objects true',
    'command true',
    'files true',
  ]);
  house.write('.worktreeinclude', '*.pem\n*.key\n');
  expect(kinds(await house.json<Trust>('init'))).toEqual(['objects true', 'command true', 'files false']);
});

test('[CLI1.42] a folder of worktrees that was there before can be trusted too', async () => {
  await using house = new House();
  const home = `${house.repository}.worktrees`;
  mkdirSync(join(home, '.reveille', '.trash'), { recursive: true, mode: 0o700 });
  expect((await house.run(['init'])).out).toContain('it was there before Reveille made it');
  expect((await house.json<Trust>('init', '--yes')).trust).toMatchObject([{ kind: 'home', trusted: true }]);
  expect((await house.json<Trust>('init')).trust).toEqual([]);
});

test('[CLI1.43] an agent is written from a template, shown, and not overwritten', async () => {
  await using house = new House();
  const { path } = await house.json<{ path: string }>(
    'agent',
    'new',
    '@house-style',
    '--description',
    'Knows the style.',
    '--read-only',
  );
  expect(path).toBe(join(house.repository, '.reveille/agents/house-style.agent.md'));
  expect(readFileSync(path, 'utf8')).toContain('description: "Knows the style."');
  expect(await house.run(['agent', 'new', 'house-style'])).toMatchObject({
    code: 5,
    err: `${path} exists already; it was not touched.\n`,
  });
  expect((await house.run(['agent', 'new', '../x'])).code).toBe(2);
  expect((await house.run(['agent', 'show', '@house-style'])).out).toMatch(
    /^@house-style: Knows the style\.\n\nfrom +repository: [^]*\nwrites +no\n/,
  );
  const user = await house.json<{ path: string }>('agent', 'new', 'mine', '--user');
  expect(user.path).toBe(join(house.env['HOME']!, '.reveille/agents/mine.agent.md'));
  expect((await house.run(['agent', 'list'])).out).toMatch(/^@mine +home /m);
  const none = await house.run(['agent', 'show', 'codr']);
  expect(none).toMatchObject({
    code: 3,
    err: expect.stringMatching(/^There is no agent "codr"\. The nearest: coder, /) as string,
  });
  house.write('.reveille/agents/bad.agent.md', '---\nname: [\n---\n');
  const { problems } = await house.json<{ problems: { line: number }[] }>('agent', 'list');
  expect(problems).toMatchObject([{ severity: 'error', line: expect.any(Number) as number }]);
});

const WORST_FIRST = ['bad', 'weak', 'good'];

test('[CLI1.44] doctor says what is wrong and what to do, and changes nothing', async () => {
  await using house = new House({ REVEILLE_ENGINE_CONCURRENCY: 'many' });
  house.write('.reveille/agents/bad.agent.md', '---\nname: [\n---\n');
  const { code, out, err } = await house.run(['doctor']);
  expect({ code, err }).toEqual({ code: 1, err: '' });
  expect(out).toMatch(/^good {2}Node\.js +24\./m);
  expect(out).toMatch(/^good {2}git +git version /m);
  expect(out).toMatch(
    /^bad +configuration +The configuration is not valid:\n +REVEILLE_ENGINE_CONCURRENCY: /m,
  );
  const verdicts = out.split('\n').flatMap((line) => /^(bad|weak|good) /.exec(line)?.[1] ?? []);
  expect(verdicts).toEqual(verdicts.toSorted((x, y) => WORST_FIRST.indexOf(x) - WORST_FIRST.indexOf(y)));
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(out).toMatch(/^good +boundary +\d+ checks held; --all lists them$/m);
  expect(out.trimEnd().split('\n\n').at(-1)).toMatch(
    /^\d+ good, \d+ weak, \d+ bad\. First, configuration: Correct\s+what is named; nothing starts\s+before\.$/,
  );
  const whole = await house.run(['doctor', '--all']);
  const held = (text: string): number => text.split('\n').filter((line) => line.startsWith('good ')).length;
  expect(held(whole.out)).toBeGreaterThan(held(out) + 10);
  expect(out).toMatch(/^good {2}daemon +No daemon runs: there is no lock file\.$/m);
  expect(out).toMatch(/^bad +agents +8 can be used, 0 not trusted, 1 problems\n +.*bad\.agent\.md:\d+: /m);
  expect(existsSync(house.env['REVEILLE_HOME']!)).toBe(false);
  const { findings } = JSON.parse((await house.run(['doctor', '--json'])).out) as {
    findings: { name: string }[];
  };
  // Its settings are wrong: what they would lead to is not said.
  expect(findings.map(({ name }) => name)).not.toContain('languages');
  expect(findings.slice(0, 9).map(({ name }) => name)).toEqual([
    'Node.js',
    'git',
    'data folder',
    'configuration',
    'daemon',
    'supervision',
    'agents',
    'backends',
    'programs',
  ]);
});

test('[CLI1.48] config says what is set and where; what a repository says counts once it is trusted', async () => {
  await using house = new House({
    ...NOTHING_SET,
    REVEILLE_ENGINE_CONCURRENCY: '3',
  });
  interface Shown {
    settings: { setting: string; value: unknown; from: string }[];
    ignored: string[];
  }
  house.write('.reveille/config.yaml', 'worktrees: { dirty: head }\n');
  const path = join(house.repository, '.reveille/config.yaml');
  const concurrency = { setting: 'engine.concurrency', value: 3, from: 'REVEILLE_ENGINE_CONCURRENCY' };
  expect(await house.json<Shown>('config')).toMatchObject({ settings: [concurrency], ignored: [path] });
  await house.run(['init', '--yes']);
  expect(await house.json<Shown>('config')).toMatchObject({
    settings: [concurrency, { setting: 'worktrees.dirty', value: 'head', from: path }],
    ignored: [],
  });
  expect((await house.run(['config', 'sandbox.mode'])).out).toBe('sandbox.mode  "warn"  default\n');
  expect((await house.json<Shown>('config', '--all')).settings.length).toBeGreaterThan(40);
  const env = { backends: { claude: { env: { ANTHROPIC_API_KEY: 'sk-secret' } } } };
  writeFileSync(join(house.env['REVEILLE_HOME']!, 'config.yaml'), JSON.stringify(env));
  const shown = await house.run(['config']);
  expect(shown.out).toMatch(/^backends\.claude\.env\.ANTHROPIC_API_KEY +"\(set\)"/m);
  expect(shown.out).not.toContain('sk-secret');
  const none = await house.run(['config', 'sandbox.mod']);
  expect(none).toMatchObject({ code: 3, err: expect.stringContaining('sandbox.mode') as string });
  house.write('.reveille/config.yaml', 'sandbox: { mode: off }\n');
  await house.run(['init', '--yes']);
  const wrong = await house.run(['config']);
  expect(wrong.code).toBe(2);
  expect(wrong.err).toContain('config.yaml:1:18: sandbox.mode: a repository can only make this stricter');
});

test('[CLI1.44] doctor says in which languages symbols are found by a server, by looking alone', async () => {
  await using house = new House(NOTHING_SET);
  const own = join(house.env['REVEILLE_HOME']!, 'servers', 'node_modules', '.bin');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'basedpyright-langserver'), '#!/bin/sh\ntouch ran\n', { mode: 0o755 });
  const words = async (): Promise<string> =>
    (
      /^good {2}languages +([^]*?)\n(?:good|$)/m.exec((await house.run(['doctor'])).out)?.[1] ?? ''
    ).replaceAll(/\s+/g, ' ');
  expect(await words()).toMatch(/^typescript, python.* by their servers; by text: .*ruby/);
  house.env['REVEILLE_NAVIGATION_ENABLED'] = 'false';
  expect(await words()).toBe('navigation is switched off');
  expect(existsSync(join(house.repository, 'ran'))).toBe(false);
});

test('[CLI1.49] doctor has a row for Claude Code and its SDK, with the line that installs it', async () => {
  await using house = new House();
  const bin = join(house.folder, 'bin');
  mkdirSync(bin);
  for (const name of ['git', 'bwrap']) {
    const program = findProgram([name], process.env['PATH'] ?? '');
    if (program) symlinkSync(program, join(bin, name));
  }
  house.env['PATH'] = bin;
  const sdk = join(house.env['REVEILLE_HOME']!, 'sdk');
  const install = `npm install --prefix ${sdk} @anthropic-ai/claude-agent-sdk`;
  const rows = async () =>
    // Where there is no sandbox, doctor ends with 1.
    new Map(
      (JSON.parse((await house.run(['doctor', '--json'])).out) as { findings: Row[] }).findings.map((row) => [
        row.name,
        row,
      ]),
    );
  const none = await rows();
  expect(none.has('claude')).toBe(false);
  expect(none.get('programs')).toMatchObject({ verdict: 'weak', command: install });
  writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho "2.1.325 (Claude Code)"\n', { mode: 0o755 });
  expect((await rows()).get('claude')).toMatchObject({
    verdict: 'weak',
    got: 'Claude Code 2.1.325, its Agent SDK is not installed, has no login',
    command: install,
  });
  const text = (await house.run(['doctor'])).out;
  expect(text.split('\n').map((line) => line.trim())).toContain(install);
  const folder = join(sdk, 'node_modules/@anthropic-ai/claude-agent-sdk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "version": "0.3.325", "main": "sdk.mjs" }');
  writeFileSync(join(folder, 'sdk.mjs'), '');
  const config = { backends: { claude: { env: { ANTHROPIC_API_KEY: 'sk' } } } };
  writeFileSync(join(house.env['REVEILLE_HOME']!, 'config.yaml'), JSON.stringify(config));
  expect((await rows()).get('claude')).toMatchObject({
    verdict: 'good',
    got: 'Claude Code 2.1.325, Agent SDK 0.3.325, has a login',
  });
});

test('[CLI1.49] what was installed while a daemon runs, and would be the default, needs a restart', async () => {
  await using house = new House(NOTHING_SET);
  const bin = join(house.folder, 'bin');
  mkdirSync(bin);
  symlinkSync(findProgram(['git'], process.env['PATH'] ?? '')!, join(bin, 'git'));
  Object.assign(house.env, { PATH: bin, OLLAMA_HOST: '127.0.0.1:9', REVEILLE_GOVERNOR_ENABLED: 'false' });
  await house.run(['daemon', 'start']);
  writeFileSync(join(bin, 'opencode'), '#!/bin/sh\nexit 2\n', { mode: 0o755 });
  const { findings } = JSON.parse((await house.run(['doctor', '--json'])).out) as { findings: Row[] };
  expect(findings.find(({ name }) => name === 'backends')).toMatchObject({
    verdict: 'weak',
    advice: expect.stringContaining('After a restart of the daemon opencode is the default'),
    command: 'reveille daemon stop',
  });
});

interface Row {
  readonly name: string;
  readonly verdict: string;
  readonly got: string;
  readonly advice: string;
  readonly command?: string;
}

test('[CLI1.44] doctor asks the agents that are installed, and leaves nothing of that', async () => {
  await using house = new House({ REVEILLE_ACP_INITIALIZE_MS: '600000' });
  const bin = join(house.folder, 'bin');
  mkdirSync(bin);
  const agent = fileURLToPath(
    new URL('../../../packages/executors/test/acp/scripted-agent.ts', import.meta.url),
  );
  writeFileSync(join(bin, 'codex-acp'), `#!/bin/sh\nexec '${process.execPath}' '${agent}' --steers\n`, {
    mode: 0o755,
  });
  writeFileSync(join(bin, 'copilot'), '#!/bin/sh\necho no such option >&2\nexit 2\n', { mode: 0o755 });
  house.env['PATH'] = `${bin}:${house.env['PATH']}`;
  const { out } = await house.run(['doctor']);
  expect(out).toMatch(
    /^weak +codex +1\.2\.3, has no login, goes on after a crash, takes mail while it works\n +To log in: /m,
  );
  expect(out).toMatch(
    /^weak +copilot +does not work\n[^]*no such option[^]*npm install -g\s+@github\/copilot/m,
  );
  expect(out).not.toMatch(/opencode +/);
  expect(existsSync(house.env['REVEILLE_HOME']!)).toBe(false);
});
