import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULTS } from '@reveille/core';
import { configJsonSchema, loadConfig, type ConfigProblem, type ConfigSources } from '@reveille/daemon';
import { isReveilleError } from '@reveille/protocol';
import { z } from 'zod';

let folder: string;
let userFile: string;
let repositoryFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reveille-config-'));
  userFile = join(folder, 'user.yaml');
  mkdirSync(join(folder, '.reveille'));
  repositoryFile = join(folder, '.reveille', 'config.yaml');
});
afterEach(() => rmSync(folder, { recursive: true }));

const trusting = {
  get repository() {
    return { root: folder, trusts: () => true };
  },
};

function problemsOf(sources: ConfigSources): readonly ConfigProblem[] {
  try {
    loadConfig(sources);
  } catch (error) {
    if (isReveilleError(error, 'invalid_input')) return error.data['problems'] as ConfigProblem[];
    throw error;
  }
  return [];
}

test('[CFG1.1] flag over environment over repository over user over default, setting by setting', () => {
  writeFileSync(
    userFile,
    'worktrees: { pool: 1, kind: linked, dirty: head, copy: [a, b] }\nengine: { concurrency: 3 }\n',
  );
  writeFileSync(repositoryFile, 'worktrees: { pool: 2, dirty: snapshot, copy: [c] }\n');
  const env = { REVEILLE_WORKTREES_POOL: '3', REVEILLE_ENGINE_HEALTH_GRACE_MS: '7', REVEILLE_HOME: '/x' };
  const { config, origins } = loadConfig({ ...trusting, userFile, env, flags: { 'worktrees.pool': '4' } });
  expect(config.worktrees).toMatchObject({ pool: 4, dirty: 'snapshot', kind: 'linked', copy: ['c'] });
  expect(config.engine.concurrency).toBe(3);
  expect(config.engine.health).toEqual({ ...DEFAULTS.health, graceMs: 7 });
  expect(Object.fromEntries(origins)).toEqual({
    'worktrees.pool': '--set worktrees.pool',
    'worktrees.dirty': repositoryFile,
    'worktrees.copy': repositoryFile,
    'worktrees.kind': userFile,
    'engine.concurrency': userFile,
    'engine.health.graceMs': 'REVEILLE_ENGINE_HEALTH_GRACE_MS',
  });
  expect(loadConfig({ ...trusting, userFile, env }).config.worktrees.pool).toBe(3);
  expect(loadConfig({ ...trusting, userFile }).config.worktrees.pool).toBe(2);
  expect(loadConfig({ userFile }).config.worktrees.pool).toBe(1);
});

test('[CFG1.1] a value is written in a variable or a flag as in a file, and a name needs no quotes', () => {
  const flags = {
    'engine.steer': 'false',
    'engine.requests.expireAfterMs': 'null',
    'sandbox.hosts': '[registry.example.org, "*.example.com"]',
    'engine.defaultAgent': '007',
    'worktrees.setup.command': 'npm ci',
  };
  const { config } = loadConfig({ flags });
  expect(config.engine).toMatchObject({
    steer: false,
    defaultAgent: '007',
    requests: { expireAfterMs: null },
  });
  expect(config.sandbox.hosts).toEqual(['registry.example.org', '*.example.com']);
  expect(config.worktrees.setup).toEqual({ command: 'npm ci', lockFiles: [], movable: false });
});

test('[CFG1.2] rules that contradict each other and prices that cannot be are said with their place', () => {
  const lines = [
    'approvals:',
    '  rules:',
    '    - { command: make, verdict: ask }',
    '    - { command: make, verdict: auto }',
    'prices:',
    '  some-model: { input: -1, output: 2 }',
    '  other: { input: 1, output: 1e9 }',
    '  half: { input: 1 }',
    'engine: { budgets: { unpriced: perhaps } }',
  ];
  writeFileSync(userFile, lines.join('\n'));
  const found = problemsOf({ userFile }).map(({ at, line }) => `${at} ${line}`);
  expect(found).toEqual([
    'engine.budgets.unpriced 9',
    'approvals.rules.1 4',
    'prices.some-model.input 6',
    'prices.other.output 7',
    'prices.half.output 8',
  ]);
});

test('[CFG1.2] every problem of every source at once, each with its place', () => {
  writeFileSync(
    userFile,
    ['engine:', '  concurency: 4', '  depth:', '    standalone: many', 'logs:', '  level: loud', ''].join(
      '\n',
    ),
  );
  writeFileSync(repositoryFile, 'sandbox:\n  hosts:\n    - ok.example.org\n    - 7\n');
  const env = {
    REVEILLE_ENGINE_CONCURRENCY: '0',
    REVEILLE_ENGINE_CONCURENCY: '4',
    REVEILLE_SOMETHING_ELSE: 'x',
  };
  const flags = { 'logs.maxFile': '3', 'daemon.batchMs': 'soon' };
  const problems = problemsOf({ ...trusting, userFile, env, flags });
  expect(problems).toEqual(
    expect.arrayContaining([
      {
        source: userFile,
        line: 2,
        column: 3,
        at: 'engine.concurency',
        problem: expect.stringContaining('concurrency'),
      },
      { source: userFile, line: 4, column: 17, at: 'engine.depth.standalone', problem: expect.any(String) },
      { source: userFile, line: 6, column: 10, at: 'logs.level', problem: expect.stringContaining('debug') },
      { source: repositoryFile, line: 4, column: 7, at: 'sandbox.hosts.1', problem: expect.any(String) },
      { source: 'REVEILLE_ENGINE_CONCURRENCY', at: 'engine.concurrency', problem: expect.any(String) },
      {
        source: 'REVEILLE_ENGINE_CONCURENCY',
        at: '',
        problem: expect.stringContaining('REVEILLE_ENGINE_CONCURRENCY'),
      },
      { source: '--set logs.maxFile', at: '', problem: expect.stringContaining('logs.maxFiles') },
      { source: '--set daemon.batchMs', at: 'daemon.batchMs', problem: expect.any(String) },
    ]),
  );
  expect(problems).toHaveLength(8);
  expect(() => loadConfig({ userFile })).toThrow(
    `${userFile}:2:3: engine.concurency: there is no such setting`,
  );
});

test('[CFG1.2] what is not YAML is told with its line', () => {
  writeFileSync(userFile, 'engine:\n  concurrency: [1,\nlogs: }\n');
  const problems = problemsOf({ userFile });
  expect(problems.length).toBeGreaterThan(0);
  expect(problems[0]).toMatchObject({ source: userFile, line: 3 });
  writeFileSync(userFile, 'engine: { steer: true }\nengine: { steer: false }\n');
  expect(problemsOf({ userFile })[0]).toMatchObject({ source: userFile, line: 2, column: 1 });
});

test('[CFG1.3] a repository counts only if it is trusted as it is', () => {
  const content = 'sandbox: { mode: require }\n';
  writeFileSync(repositoryFile, content);
  const asked: unknown[] = [];
  const trusts = (trusted: boolean) => ({
    root: folder,
    trusts: (file: unknown) => {
      asked.push(file);
      return trusted;
    },
  });
  const refused = loadConfig({ repository: trusts(false) });
  expect(refused.config.sandbox.mode).toBe('warn');
  expect(refused.ignored).toEqual([repositoryFile]);
  const trusted = loadConfig({ repository: trusts(true) });
  expect(trusted.config.sandbox.mode).toBe('require');
  expect(trusted.ignored).toEqual([]);
  expect(asked).toEqual([
    { path: repositoryFile, content },
    { path: repositoryFile, content },
  ]);
});

test('[CFG1.3] an untrusted file that is damaged is not even read; a trusted one sets only its own checkouts', () => {
  writeFileSync(repositoryFile, ': [}');
  expect(loadConfig({ repository: { root: folder, trusts: () => false } }).ignored).toEqual([repositoryFile]);
  writeFileSync(
    repositoryFile,
    'worktrees: { pool: 2 }\ndaemon: { connections: 9 }\nlogs: { level: debug }\n',
  );
  expect(problemsOf({ ...trusting })).toMatchObject([
    { source: repositoryFile, line: 2, column: 1, at: 'daemon' },
    { source: repositoryFile, line: 3, column: 1, at: 'logs' },
  ]);
});

test('[CFG1.7] what a repository may never set is refused with its place, however trusted it is', () => {
  writeFileSync(
    repositoryFile,
    [
      'worktrees:',
      '  home: /tmp/elsewhere',
      '  ports: { first: 3000 }',
      '  branchPrefix: mine',
      '  dirty: head',
      'sandbox:',
      '  mode: off',
      '  audit: unconfined',
      '  network: on',
      '  reads: [~/.cache/pip, ~/.ssh/config, "~", /, "~/.local/../.aws"]',
      '  writes:',
      `    - ${join(folder, 'link')}`,
      'engine: { concurrency: 99 }',
      '',
    ].join('\n'),
  );
  symlinkSync(homedir(), join(folder, 'link'));
  const problems = problemsOf({ ...trusting });
  expect(problems.map(({ at, line, column }) => `${at} ${line}:${column}`)).toEqual([
    'worktrees.home 2:3',
    'worktrees.ports 3:3',
    'worktrees.branchPrefix 4:3',
    'sandbox.mode 7:9',
    'sandbox.audit 8:10',
    'sandbox.reads.1 10:25',
    'sandbox.reads.2 10:40',
    'sandbox.reads.3 10:45',
    'sandbox.reads.4 10:48',
    'sandbox.writes.0 12:7',
    'engine 13:1',
  ]);
  const said = problems.map(({ problem }) => problem);
  expect(said[0]).toContain('your own configuration');
  expect(said[3]).toContain('only make this stricter: require');
  expect(said[5]).toContain('.ssh');
});

test('[BND6.17] no repository opens a place with credentials, the folder it is in, or a file in it', () => {
  const names = `.ssh/id .pgpass .my.cnf .vault-token .m2 .m2/settings.xml .config/rclone/rclone.conf
    .config/github-copilot .netrc .npmrc .docker/config.json .kube .aws .gnupg .config/gh .config/gcloud .azure
    .cargo/credentials.toml .pypirc .local/share/keyrings .mozilla .password-store .terraform.d .config .local .cargo`;
  const places = [...names.split(/\s+/).map((name) => `~/${name}`), '/var/run/docker.sock', '/run', '/var'];
  for (const place of places) {
    writeFileSync(repositoryFile, `sandbox: { reads: [${JSON.stringify(place)}] }\n`);
    expect(
      problemsOf({ ...trusting }).map(({ at }) => at),
      place,
    ).toEqual(['sandbox.reads.0']);
  }
  for (const place of ['~/.cargo/registry', '~/go/pkg', '~/.gradle/caches', '/opt/tools']) {
    writeFileSync(repositoryFile, `sandbox: { reads: [${JSON.stringify(place)}] }\n`);
    expect(problemsOf({ ...trusting }), place).toEqual([]);
  }
});

test('[CFG1.7] its checkouts, what is run in them and what they reach are its own to say', () => {
  writeFileSync(
    repositoryFile,
    'worktrees: { setup: { command: npm ci }, copy: [.env.test] }\nsandbox: { mode: require, audit: always, network: list, hosts: [a.org], reads: [~/.cache/pip] }\nintegration: { onConflict: resolve }\n',
  );
  const { config } = loadConfig({ ...trusting });
  expect(config).toMatchObject({
    worktrees: { setup: { command: 'npm ci' } },
    sandbox: { mode: 'require', audit: 'always', hosts: ['a.org'], reads: ['~/.cache/pip'] },
    integration: { onConflict: 'resolve' },
  });
});

test('[CFG1.7] a file of comments alone needs no trust', () => {
  writeFileSync(repositoryFile, '# worktrees:\n\n  # dirty: fail\n');
  expect(loadConfig({ repository: { root: folder, trusts: () => false } }).ignored).toEqual([]);
});

test('[CFG1.8] one set of sources serves many repositories, each with what it says itself', () => {
  writeFileSync(userFile, 'worktrees: { dirty: head, pool: 3 }\n');
  writeFileSync(repositoryFile, 'worktrees: { dirty: snapshot }\n');
  const loaded = loadConfig({ userFile });
  rmSync(userFile);
  const here = loaded.in({ root: folder, trusts: () => true });
  expect(here.config.worktrees).toMatchObject({ dirty: 'snapshot', pool: 3 });
  expect(here.origins.get('worktrees.dirty')).toBe(repositoryFile);
  const elsewhere = loaded.in({ root: join(folder, '.reveille'), trusts: () => true });
  expect(elsewhere.config.worktrees).toMatchObject({ dirty: 'head', pool: 3 });
  expect(loaded.config.worktrees.dirty).toBe('head');
});

test('[CFG1.4] the published schema is the one in use', () => {
  const published: unknown = JSON.parse(
    readFileSync(new URL('../config.schema.json', import.meta.url), 'utf8'),
  );
  expect(published, 'run `npm run generate -w packages/daemon`').toEqual(configJsonSchema());
  const type = z.fromJSONSchema(published as Parameters<typeof z.fromJSONSchema>[0]);
  expect(type.safeParse({}).success).toBe(true);
  expect(type.safeParse({ engine: { concurrency: 4 }, logs: { level: 'debug' } }).success).toBe(true);
  expect(type.safeParse({ engine: { concurrency: 0 } }).success).toBe(false);
  expect(type.safeParse({ engines: {} }).success).toBe(false);
});

test('[CFG1.4] what nobody sets is what the engine has by itself', () => {
  expect(loadConfig({}).config.engine).toEqual({ ...DEFAULTS, defaultBackend: null });
});

test('[CFG1.5] it is frozen, all the way down', () => {
  const { config } = loadConfig({ flags: { 'sandbox.hosts': '[a]' } });
  const changed = config as unknown as {
    engine: { depth: { standalone: number } };
    sandbox: { hosts: string[] };
  };
  expect(() => (changed.engine.depth.standalone = 9)).toThrow(TypeError);
  expect(() => changed.sandbox.hosts.push('b')).toThrow(TypeError);
});

test('[CFG1.6] hostile and damaged files are problems with a place', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
    .split('')
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
    .join('\n')}\n`;
  const files: Record<string, string> = {
    list: '- a\n- b\n',
    word: 'hello',
    bomb,
    proto: '__proto__: { polluted: true }\n',
    constructor: 'constructor: { prototype: { polluted: true } }\n',
    deep: `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
    tag: 'engine: !!js/function "function(){}"\n',
    huge: `# ${'x'.repeat(300_000)}\n`,
    binary: '\u0000\u0001\u0002',
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, `${name}.yaml`);
    writeFileSync(path, text);
    const problems = problemsOf({ userFile: path });
    expect(problems.length, name).toBeGreaterThan(0);
    expect(problems[0]?.source, name).toBe(path);
  }
  expect(problemsOf({ userFile: folder })).toMatchObject([{ source: folder, problem: 'it is not a file' }]);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  for (const empty of ['', '# nothing\n', '---\n']) {
    writeFileSync(userFile, empty);
    expect(loadConfig({ userFile }).config.engine).toEqual({ ...DEFAULTS, defaultBackend: null });
  }
  expect(loadConfig({ userFile: join(folder, 'missing.yaml') }).config.engine).toEqual({
    ...DEFAULTS,
    defaultBackend: null,
  });
});

test('[EXE1.74] a key where the name of its variable belongs is refused, and not said again', () => {
  const problems = problemsOf({ flags: { 'backends.builtin.apiKeyEnv': 'sk-ant-a-secret' } });
  expect(problems).toMatchObject([{ problem: expect.stringContaining('name of a variable, not the key') }]);
  expect(JSON.stringify(problems)).not.toContain('a-secret');
  writeFileSync(repositoryFile, 'backends: { builtin: { baseUrl: "http://elsewhere" } }\n');
  expect(problemsOf(trusting)).not.toEqual([]);
});
