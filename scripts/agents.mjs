// The real agents that `npm run test:agents` runs, each as it was when the tests were last seen to pass.
import { CachedPackages } from './cached-packages.mjs';

export const AGENTS = new CachedPackages(
  'agents',
  {
    claude: '@anthropic-ai/claude-agent-sdk@0.3.325',
    codex: '@agentclientprotocol/codex-acp@2.6.0',
    gemini: '@google/gemini-cli@0.61.0',
    copilot: '@github/copilot@1.0.102',
    opencode: 'opencode-ai@1.18.33',
  },
  // The program for this kind of machine.
  {
    claude: '@anthropic-ai/claude-agent-sdk',
    codex: '@openai/codex',
    copilot: '@github/copilot',
    opencode: 'opencode',
  },
);

if (process.argv[1] === import.meta.filename) {
  const refused = await AGENTS.install();
  for (const [name, answer] of Object.entries(refused)) console.error(`${name} was refused:\n${answer}`);
  process.exitCode = Object.keys(refused).length > 0 ? 1 : 0;
}
