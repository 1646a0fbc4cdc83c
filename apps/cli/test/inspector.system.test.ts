import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { connect, daemonStatus } from '@reveille/daemon/connect';
import { withScript } from '@reveille/executors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { House } from './house.ts';

const require = createRequire(import.meta.url);
const INSPECTOR = require.resolve('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const BINARY = fileURLToPath(new URL('../bin/reveille.cjs', import.meta.url));
const PROMPT = withScript('Do.', { steps: [{ do: 'report', output: 'The answer is 42.' }] });

interface Listed {
  readonly tools: readonly { readonly name: string }[];
}
interface Called {
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
}

/** The protocol's own inspector, which shares no code with our tests. */
describe('the MCP inspector', () => {
  let house: House;
  beforeAll(async () => {
    house = new House();
    await house.json('daemon', 'start');
  });
  afterAll(() => house[Symbol.asyncDispose]());

  const inspect = <T>(target: readonly string[], ...args: readonly string[]): Promise<T> =>
    new Promise((resolve, reject) => {
      execFile(
        process.execPath,
        [INSPECTOR, '--cli', '--connect-timeout', '300000', ...target, ...args],
        { cwd: house.repository, env: house.env, maxBuffer: 2 ** 24 },
        (error, out, err) => {
          if (error) reject(new Error(`${error.message}\n${out}\n${err}`));
          else resolve(JSON.parse(out) as T);
        },
      );
    });
  const overHttp = async (): Promise<string[]> => {
    const person = await connect({ env: house.env });
    const status = await daemonStatus({ env: house.env });
    const { credential } = await person.grantSession({ name: 'inspector', repository: house.repository });
    if (status.state !== 'running') throw new Error(status.why);
    const header = `Authorization: Bearer ${credential}`;
    return [`${status.url}/mcp`, '--transport', 'http', '--header', header];
  };
  // It hands on only what every server needs of the environment: without this, another daemon would be started.
  const overStdio = async (): Promise<string[]> => [
    '-e',
    `REVEILLE_HOME=${house.env['REVEILLE_HOME']}`,
    process.execPath,
    BINARY,
    'mcp',
    '--client',
    'inspector',
  ];

  test.each([
    { over: 'HTTP', target: overHttp },
    { over: 'stdio', target: overStdio },
  ])('[CLI1.56] lists our tools over $over, and finds no fault with their schemas', async ({ target }) => {
    // It fails if a schema is one that some clients cannot read.
    const { tools } = await inspect<Listed>(await target(), '--method', 'tools/list', '--strict');
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['a2a_spawn_subtask', 'a2a_await_subtasks', 'orchestrator_save_plan']),
    );
  });

  test.each([
    { over: 'HTTP', target: overHttp },
    { over: 'stdio', target: overStdio },
  ])('[CLI1.57] calls our tools over $over: words and data', async ({ target }) => {
    const caller = await target();
    const call = (name: string, ...args: string[]): Promise<Called> =>
      inspect(caller, '--method', 'tools/call', '--tool-name', name, '--tool-arg', ...args);
    const agents = await call('a2a_list_agents', 'filter=all');
    expect(agents.structuredContent).toMatchObject({ backends: ['scripted'] });
    const made = await call(
      'a2a_spawn_subtask',
      'agentType=scripted:coder',
      `prompt=${PROMPT}`,
      'blocking=true',
    );
    expect(made.structuredContent).toMatchObject({ state: 'ended', status: 'success' });
    expect(made.content.map(({ text }) => text).join('\n')).toContain('The answer is 42.');
  });
});
