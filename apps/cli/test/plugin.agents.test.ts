import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withScript } from '@reveille/executors';
import { bundledProgram } from '@reveille/executors/claude';
import { recipeFor, startModelServer, withModelScript } from '@reveille/model-server';
import { expect, test } from 'vitest';
import { House, ended } from './house.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TOOL = 'mcp__plugin_reveille_reveille__a2a_spawn_subtask';

/** Where it was installed, as `npm run test:agents` says it. */
const { claude } = JSON.parse(process.env['REVEILLE_AGENTS'] ?? '{}') as { claude?: string };

// That the registry refused it is said by whoever installs it.
test.skipIf(!claude)(
  '[WAK6.27] the real Claude Code at its own settings calls our tools and is woken with news',
  async () => {
    await using model = await startModelServer();
    await using house = new House();
    const child = withScript('Test the cart.', {
      steps: [
        { do: 'work', ms: 3_000 },
        { do: 'report', output: '7 tests pass' },
      ],
    });
    const input = { name: 'cart tests', agentType: 'scripted:tester', prompt: child, blocking: false };
    const prompt = withModelScript('Hand the cart tests on.', {
      steps: [{ call: 'a2a_spawn_subtask', input }, { say: 'Handed on.' }],
      onMail: [{ when: '7 tests pass', steps: [{ say: 'The cart tests pass.' }] }],
    });
    mkdirSync(join(house.folder, 'home', '.claude'), { recursive: true });
    const program = bundledProgram(claude!);
    const args = ['-p', prompt, '--plugin-dir', join(ROOT, 'plugins/claude-code'), '--allowedTools', TOOL];
    const chat = spawn(program!, [...args, '--output-format', 'stream-json', '--verbose'], {
      cwd: house.repository,
      env: {
        ...house.env,
        ...recipeFor('claude', model.url).env,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        // A person takes longer to type than the tools to connect; this prompt is there at once.
        MCP_CONNECTION_NONBLOCKING: 'false',
        REVEILLE_COMMAND: join(ROOT, 'bin/reveille'),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    chat.stdin.end();
    const { code, out, err } = await ended(chat);
    expect({ code, out }, err).toMatchObject({
      code: 0,
      out: expect.stringContaining('The cart tests pass.'),
    });
    expect(model.requests.find(({ tools }) => tools.length > 0)?.tools).toContain(TOOL);
    const last = JSON.stringify(model.requests.at(-1)?.body);
    expect(last).toContain('7 tests pass');
    expect(last).not.toMatch(/hook[^"]{0,40}error/i);
  },
);
