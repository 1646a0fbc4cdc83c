import { createServer, type AddressInfo } from 'node:net';
import { PRESETS, checkEndpoint, endpointOf, type Preset } from '@reveille/executors/acp';
import { CLAUDE } from '@reveille/executors/claude';
import { expect, test } from 'vitest';

const preset = (name: string): Preset => [CLAUDE, ...PRESETS].find((one) => one.name === name)!;

test('[EXE1.28] where an agent looks for its model is found where each of them is told', () => {
  const url = 'http://127.0.0.1:4011/v1';
  const codex = { model_provider: 'mine', model_providers: { mine: { base_url: url }, other: {} } };
  const provider = {
    mine: { options: { baseURL: url } },
    other: { options: { baseURL: 'http://localhost' } },
  };
  expect(endpointOf(preset('claude'), { ANTHROPIC_BASE_URL: url })).toBe(url);
  expect(endpointOf(preset('gemini'), { GOOGLE_GEMINI_BASE_URL: url })).toBe(url);
  expect(endpointOf(preset('copilot'), { COPILOT_PROVIDER_BASE_URL: url })).toBe(url);
  expect(endpointOf(preset('codex'), { CODEX_CONFIG: JSON.stringify(codex) })).toBe(url);
  const opencode = { OPENCODE_CONFIG_CONTENT: JSON.stringify({ model: 'mine/a', provider }) };
  expect(endpointOf(preset('opencode'), opencode)).toBe(url);
  for (const { name } of [CLAUDE, ...PRESETS])
    expect(endpointOf(preset(name), { CODEX_CONFIG: '{' })).toBeNull();
});

test('[EXE1.28] one on this machine at which nobody listens fails its agent at once; one elsewhere is the agent’s to try', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const check = (url: string): Promise<void> => checkEndpoint(CLAUDE, { ANTHROPIC_BASE_URL: url });
  await check(`http://127.0.0.1:${port}`);
  await check('https://models.example.invalid');
  await check('no address');
  await new Promise((resolve) => server.close(resolve));
  await expect(check(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
    failure: { class: 'network', message: expect.stringMatching(/Nobody answers at .*endpoint right/) },
  });
});
