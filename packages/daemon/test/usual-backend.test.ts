import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRESETS, custom } from '@reveille/executors/acp';
import { CLAUDE } from '@reveille/executors/claude';
import { describe, expect, test } from 'vitest';
import { findEndpoint } from '../src/compose/endpoint.ts';
import { usualHere } from '../src/compose/installed.ts';
import { usualBackend } from '../src/compose/usual-backend.ts';
import { Config } from '../src/config/schema.ts';
import { placeOf } from '../src/place/folder.ts';

const MINE = custom('mine', 'mine', []);
const agents = [CLAUDE, ...PRESETS, MINE];
const endpoint = await findEndpoint(Config.parse({}), { ANTHROPIC_API_KEY: 'k' });
const all = ['scripted', 'builtin', 'claude', 'codex', 'gemini', 'copilot', 'opencode', 'mine'];

describe('the backend of agents that name none', () => {
  const usual = (given: Partial<Parameters<typeof usualBackend>[0]>) =>
    usualBackend({ configured: null, installed: all, agents, endpoint, login: () => 'yes', ...given });

  test('[EXE2.20] is the one that is set, also if it is not there', () => {
    expect(usual({ configured: 'word' })).toEqual({ name: 'word', why: 'engine.defaultBackend is set' });
  });

  test('[EXE2.20] is the first that is installed, those with a login first', () => {
    expect(usual({})).toEqual({ name: 'claude', why: 'Claude Code is installed, the first of 6' });
    expect(usual({ installed: ['scripted', 'gemini', 'codex'] }).name).toBe('codex');
    expect(usual({ login: ({ name }) => (name === 'gemini' ? 'yes' : 'no') }).name).toBe('gemini');
    expect(usual({ installed: ['codex'], login: () => 'no' })).toEqual({
      name: 'codex',
      why: 'Codex is installed, but there is no login for it',
    });
    expect(usual({ installed: ['mine'], login: () => 'unknown' }).name).toBe('mine');
  });

  test('[EXE2.20] a key in what is configured for an agent alone is a login', () => {
    const folder = mkdtempSync(join(tmpdir(), 'reveille-usual-'));
    writeFileSync(join(folder, 'codex-acp'), '#!/bin/sh\n', { mode: 0o755 });
    const whyOf = (config: object): string =>
      usualHere({
        config: Config.parse(config),
        place: placeOf({ HOME: folder }),
        env: { PATH: folder },
        home: folder,
        endpoint: null,
      }).why;
    expect(whyOf({})).toContain('there is no login');
    expect(whyOf({ acp: { codex: { env: { OPENAI_API_KEY: 'k' } } } })).toBe('Codex is installed');
    rmSync(folder, { recursive: true });
  });

  test('[EXE2.20] is our own where none is installed and there is a model, else the scripted one', () => {
    expect(usual({ installed: ['scripted', 'builtin'] })).toEqual({
      name: 'builtin',
      why: 'no agent that can be used is installed, and ANTHROPIC_API_KEY is set',
    });
    expect(usual({ installed: ['scripted'], endpoint: null }).name).toBe('scripted');
  });
});

describe('where our own agent finds a model', () => {
  const nowhere = { OLLAMA_HOST: '127.0.0.1:9' };
  const find = async (env: Record<string, string>, config: object = {}) => {
    // However busy the machine is.
    const found = await findEndpoint(Config.parse(config), { ...nowhere, ...env }, 60_000);
    return found && { ...found.endpoint, apiKey: found.endpoint.apiKey() };
  };

  test('[EXE2.21] what is configured counts before what the environment has', async () => {
    const builtin = { provider: 'openai-compatible', model: 'm', baseUrl: 'http://127.0.0.1:9/v1' };
    const found = await find({ ANTHROPIC_API_KEY: 'k' }, { backends: { builtin } });
    expect(found).toMatchObject({ provider: 'openai-compatible', model: 'm', apiKey: undefined });
  });

  test('[EXE2.21] a key in the environment, with the model and the address that stand beside it', async () => {
    expect(await find({})).toBeNull();
    expect(await find({ ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'o' })).toMatchObject({
      provider: 'anthropic',
      apiKey: 'k',
      keyName: 'ANTHROPIC_API_KEY',
    });
    const named = { OPENAI_API_KEY: 'o', OPENAI_MODEL: 'm' };
    expect(await find(named)).toMatchObject({ provider: 'openai', model: 'm', apiKey: 'o', baseUrl: null });
    expect(await find({ ...named, OPENAI_BASE_URL: 'https://models.example.com/v1' })).toMatchObject({
      provider: 'openai-compatible',
      baseUrl: 'https://models.example.com/v1',
      apiKey: 'o',
    });
  });

  test('[EXE2.21] a server on this machine is asked for its models, and nothing else', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end(JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // It listens on TCP, so its address is one.
    const { port } = server.address() as AddressInfo;
    try {
      const host = `127.0.0.1:${port}`;
      expect(await find({ OLLAMA_HOST: host })).toMatchObject({ provider: 'ollama', model: 'small' });
      expect(await find({ OPENAI_BASE_URL: `http://${host}/v1/` })).toMatchObject({ model: 'small' });
      // Elsewhere nobody is asked unasked.
      expect(await find({ OPENAI_BASE_URL: 'https://models.invalid/v1' })).toBeNull();
    } finally {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
    expect(asked).toEqual(['GET /v1/models', 'GET /v1/models']);
  });
});
