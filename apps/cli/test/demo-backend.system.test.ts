import { expect, test } from 'vitest';
import { SAME_PLAN, demo, lastLine } from './demo-run.ts';

test('[CLI1.90] the demo runs on the built-in agent with a scripted model, and uses no key of the person', async () => {
  const env = { ANTHROPIC_API_KEY: 'of-the-person', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' };
  const run = await demo(['--backend', 'builtin', '--speed', '100', '--json'], { env });
  expect({ code: run.code, err: run.err, left: run.left }).toEqual({ code: 0, err: '', left: [] });
  expect(lastLine(run)).toMatchObject(SAME_PLAN);
  expect(run.out).not.toContain('of-the-person');
  expect(run.out).toContain('a bucket went negative after the clock was set back');
});

test('[CLI1.91] an agent that is not installed is answered with what to install, one that is unknown with those there are', async () => {
  const env = { PATH: '/nonexistent' };
  const codex = await demo(['--backend', 'codex'], { env });
  expect(codex.code).not.toBe(0);
  expect(codex.err).toMatch(/Codex is not installed.*npm install -g @agentclientprotocol\/codex-acp/);
  expect(codex.left).toEqual([]);
  const unknown = await demo(['--backend', 'word']);
  expect(unknown.code).toBe(2);
  expect(unknown.err).toContain('--backend takes one of claude, codex, gemini, copilot, opencode, builtin');
});
