import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolsJson } from '@reveille/tools';
import { expect, test } from 'vitest';
import { isWrapper, lineage, starter } from '../src/chat/lineage.ts';
import { COMMANDS } from '../src/commands/table.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PLUGIN = join(ROOT, 'plugins/claude-code');

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const json = (path: string): unknown => JSON.parse(read(path));

test('[WAK6.25] the plugin is where the list of plugins says, of the version of the package', () => {
  const { plugins } = json('.claude-plugin/marketplace.json') as {
    plugins: { name: string; source: string }[];
  };
  expect(plugins.map(({ source }) => join(ROOT, source))).toEqual([PLUGIN]);
  const { version } = json('package.json') as { version: string };
  expect(json('plugins/claude-code/.claude-plugin/plugin.json')).toMatchObject({ name: 'reveille', version });
});

test('[WAK6.25] its connection and its hooks call commands that there are', () => {
  const { mcpServers } = json('plugins/claude-code/.mcp.json') as {
    mcpServers: { reveille: { args: string[] } };
  };
  const names = new Set(COMMANDS.map(({ name }) => name));
  expect(names).toContain(mcpServers.reveille.args[0]);
  expect(read('plugins/claude-code/hooks/hook.sh')).toContain('"$program" hook "$1"');
  expect(names).toContain('hook');
  const hooks = read('plugins/claude-code/hooks/hooks.json');
  const moments = [...hooks.matchAll(/hook\.sh\\" (\w+)"/g)].map(([, moment]) => moment);
  expect(moments).toEqual(['stop', 'prompt']);
});

test('[WAK6.25] its commands name tools that a chat has', () => {
  const files = readdirSync(join(PLUGIN, 'commands'));
  expect(files.toSorted()).toEqual(['delegate.md', 'inbox.md', 'plan.md', 'status.md']);
  const known = new Set(toolsJson().map(({ name }) => name));
  for (const file of files) {
    const text = read(`plugins/claude-code/commands/${file}`);
    expect(text).toMatch(/^---\ndescription: .+\n/);
    const named = [...text.matchAll(/`((?:a2a|orchestrator)_\w+)`/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect(known).toContain(name);
  }
});

test('[WAK6.23] its hooks hold nobody because Reveille is not there, or is too old for them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-plugin-'));
  try {
    const program = join(folder, 'reveille');
    const hook = () => {
      const env = { PATH: process.env['PATH'], REVEILLE_COMMAND: program };
      const args = [join(PLUGIN, 'hooks/hook.sh'), 'stop'];
      const { status, stdout } = spawnSync('sh', args, { env, encoding: 'utf8', input: '{}' });
      return { status, stdout };
    };
    expect(hook()).toEqual({ status: 0, stdout: '' });
    for (const [code, seen] of [
      [0, 0],
      [1, 1],
      [2, 1],
    ]) {
      writeFileSync(program, `#!/bin/sh\necho "$@"\nexit ${code}\n`);
      chmodSync(program, 0o755);
      expect(hook()).toEqual({ status: seen, stdout: 'hook stop\n' });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('[WAK6.24] what stands between a chat and what it starts is told from the chat', () => {
  for (const command of [
    'sh -c reveille mcp',
    '/bin/bash',
    '-zsh',
    'npm exec reveille mcp',
    '/usr/bin/env node',
  ])
    expect(isWrapper(command)).toBe(true);
  for (const command of ['claude -p', 'node /usr/bin/claude', '/opt/claude', 'code --x', ''])
    expect(isWrapper(command)).toBe(false);
  const [self, ...forebears] = lineage();
  expect(self?.pid).toBe(process.pid);
  expect(forebears[0]?.pid).toBe(process.ppid);
  expect(forebears).toContainEqual(starter());
});
