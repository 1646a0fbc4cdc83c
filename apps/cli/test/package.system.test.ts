import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withScript } from '@reveille/executors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Chat } from './chat.ts';
import { House } from './house.ts';
import { Installed } from './installed.ts';

/** Half of what it may become; whoever makes it larger should know. */
const LARGEST_BYTES = 1_500_000;

describe('the package', () => {
  let installed: Installed;
  let house: House;
  beforeAll(async () => {
    installed = await Installed.make();
    house = new House();
  });
  afterAll(async () => {
    await house?.[Symbol.asyncDispose]();
    installed?.[Symbol.dispose]();
  });

  const read = (path: string): string => readFileSync(join(installed.root, path), 'utf8');
  /** A command that succeeds and says nothing is wrong. */
  async function output(...args: string[]): Promise<string> {
    const { code, out, err } = await installed.run(house, ...args);
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
    return out;
  }

  test('[CLI1.60] it is one, small, brings nothing else along, and runs nothing when it is installed', () => {
    expect(readdirSync(join(installed.root, '..'))).toEqual(['reveille']);
    expect(existsSync(join(installed.root, 'node_modules'))).toBe(false);
    expect(statSync(installed.tarball).size).toBeLessThan(LARGEST_BYTES);
    const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
    expect(manifest).toMatchObject({ name: 'reveille', engines: { node: '>=24' } });
    expect(manifest['dependencies']).toBeUndefined();
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest['scripts']).not.toHaveProperty(script);
  });

  test('[CLI1.60] it holds its licence and those of what is in it, the manual, the schemas, the examples, the plugin', () => {
    for (const path of ['LICENSE', 'README.md', 'docs/manual.md', 'examples/hello.yaml'])
      expect(read(path)).not.toBe('');
    for (const name of ['plan', 'config'])
      expect(JSON.parse(read(`dist/schemas/${name}.schema.json`))).toHaveProperty('$schema');
    expect(read('plugins/claude-code/.claude-plugin/plugin.json')).toContain('"reveille"');
    const others = read('dist/THIRD-PARTY.md');
    for (const name of ['zod', 'hono', 'yaml', '@modelcontextprotocol/server'])
      expect(others).toMatch(new RegExp(`^## ${name} \\d+\\.\\d+\\.\\d+$`, 'm'));
    // The sources, the tests and what belongs to the clone alone stay there.
    expect(readdirSync(installed.root).toSorted()).toEqual(
      [
        '.claude-plugin',
        'LICENSE',
        'README.md',
        'dist',
        'docs',
        'examples',
        'package.json',
        'plugins',
      ].toSorted(),
    );
  });

  test('[CLI1.61] it says its version, its commands, what is missing, and completes', async () => {
    expect(await output('--version')).toBe(
      `${(JSON.parse(read('package.json')) as { version: string }).version}\n`,
    );
    expect(await installed.npx('--version')).toBe(await output('--version'));
    expect(await output('--help')).toContain('reveille <command>');
    expect(await output('completion', 'bash')).toContain('complete');
    expect(JSON.parse(await output('agent', 'list', '--json'))).toBeTruthy();
    const { out } = await installed.run(house, 'doctor', '--json');
    expect(JSON.parse(out)).toBeTruthy();
  });

  test('[CLI1.61] it sets up a repository and runs plans on its own daemon, which it stops', async () => {
    const said = await output('init', '--yes', '--mcp', 'claude', '--claude');
    expect(said).toContain(`claude plugin marketplace add ${installed.root}\n`);
    const entry = readFileSync(join(house.repository, '.mcp.json'), 'utf8');
    expect(entry).toContain(JSON.stringify(join(installed.root, 'dist/bin/reveille.cjs')));
    await output('plan', 'validate', '.reveille/plans/example.yaml');
    const example = join(installed.root, 'examples/hello.yaml');
    expect(await output('plan', 'run', example)).toContain('completed');
    const { plan } = JSON.parse(await output('status', 'Hello', '--json')) as { plan: { state: string } };
    expect(plan.state).toBe('completed');
    const pid = String((await house.running()).pid);
    const command = execFileSync('ps', ['-ww', '-o', 'args=', '-p', pid], { encoding: 'utf8' });
    expect(command).toContain(join(installed.root, 'dist/lib/main.js'));
    await output('stop', '--all');
    await output('daemon', 'stop');
    expect((await installed.run(house, 'daemon', 'status')).code).toBe(7);
  });

  test('[CLI1.61] it serves a chat over MCP, and starts the daemon for it', async () => {
    const child = installed.start(house, ['mcp', '--client', 'claude']);
    await using chat = await new Chat(child).open();
    const prompt = withScript('Do.', { steps: [{ do: 'report', output: 'The answer is 42.' }] });
    const spawned = await chat.call('a2a_spawn_subtask', { agentType: 'scripted:coder', prompt });
    expect(spawned.text).toContain('The answer is 42.');
    expect(chat.err).toBe('');
  });

  test('[CLI1.62] a Node that is too old ends in one sentence', async () => {
    // The real one, which takes itself for an old one.
    const old = join(house.folder, 'old.cjs');
    writeFileSync(
      old,
      "const versions = { ...process.versions, node: '20.20.2' };\nObject.defineProperty(process, 'versions', { value: versions });\nObject.defineProperty(process, 'version', { value: 'v20.20.2' });\n",
    );
    const args = ['--require', old, installed.program, 'status'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      env: house.env,
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Reveille needs Node 24 or newer, and this is v20.20.2: install it from https://nodejs.org.\n',
    });
  });
});
