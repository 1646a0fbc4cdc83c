import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  startModelServer,
  withModelScript,
  type ModelScript,
  type ModelServer,
} from '@reveille/model-server';
import { acpExecutor, custom, type AcpOptions } from '@reveille/executors/acp';
import { CLAUDE, bundledProgram, claudeExecutor, loadSdk } from '@reveille/executors/claude';
import type { Executor } from '@reveille/core';
import { SCRIPTED_AGENT, identityOf } from './acp/bench.ts';
import type { Backend, Opened, Stand } from './stand.ts';
import { startToolServer } from './tool-server.ts';

type Surroundings = Pick<
  AcpOptions,
  'folder' | 'identityOf' | 'launch' | 'tools' | 'approve' | 'policy' | 'ownTools' | 'graces'
>;

interface Program {
  readonly argv: readonly string[];
  readonly env: (model: ModelServer) => Readonly<Record<string, string>>;
}

/** Our scripted agent, as a process that speaks the protocol, with the scripted model. */
export function acpBackend(...flags: string[]): Backend {
  const argv = [process.execPath, SCRIPTED_AGENT, ...flags];
  const steers = flags.includes('--steers');
  const plain = custom('acp', process.execPath, argv.slice(1));
  const preset = { ...plain, quirks: { ...plain.quirks, midTurn: steers ? 'steers' : 'cancels' } } as const;
  const env = (model: ModelServer) => ({
    SCRIPTED_MODEL: model.url,
    MODEL_KEY: 'the-key',
    NODE_NO_WARNINGS: '1',
  });
  return {
    name: 'acp',
    speaksWhole: true,
    doubts: steers,
    open: (stand) =>
      open(stand, { argv, env }, (surroundings) =>
        acpExecutor({
          ...surroundings,
          preset,
          version: '0',
          has: () => true,
          hands: () => null,
          log: () => undefined,
          // However busy the machine is.
          waits: { initializeMs: 600_000, sessionMs: 600_000, cancelMs: 600_000, lastMs: 60_000 },
        }),
      ),
  };
}

/** What its own tools are called, which it uses in the place of ours. */
const CLAUDES: Readonly<Record<string, (input: Record<string, unknown>, files: string) => object>> = {
  create_file: ({ path, content }, files) => ({
    call: 'Write',
    input: { file_path: join(files, String(path)), content },
  }),
  read_file: ({ path }, files) => ({ call: 'Read', input: { file_path: join(files, String(path)) } }),
  list_directory: () => ({ call: 'Glob', input: { pattern: '*' } }),
};

/** The real Claude Code, with the scripted model, from the folder where it is installed. */
export function claudeBackend(folder: string): Backend {
  const program = bundledProgram(folder);
  if (program === null) throw new Error(`there is no Claude Code in ${folder}`);
  const env = (model: ModelServer) => ({
    ...CLAUDE.env({ confined: false, asks: false }),
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'the-key',
  });
  return {
    name: 'claude',
    ownFiles: true,
    async open(stand) {
      const opened = await open(stand, { argv: [program], env }, (surroundings) =>
        claudeExecutor({
          ...surroundings,
          sdk: () => loadSdk(folder),
          install: 'Install it.',
          transcripts: () => join(stand.folder, 'home', '.claude'),
        }),
      );
      return { ...opened, prompt: (script) => withModelScript('Do this.', ownTools(script, stand.files)) };
    },
  };
}

function ownTools(script: ModelScript, files: string): ModelScript {
  const own = (steps: ModelScript['steps'] = []) =>
    steps.map((step) => ({ ...step, ...CLAUDES[step.call ?? '']?.(step.input ?? {}, files) }));
  const onMail = script.onMail?.map((section) => ({ ...section, steps: own(section.steps) }));
  return { ...script, steps: own(script.steps), ...(onMail ? { onMail } : {}) };
}

/** What every agent has that is a program of its own, without a sandbox and a daemon. */
async function open(
  stand: Stand,
  { argv, env }: Program,
  executorIn: (surroundings: Surroundings) => Executor,
): Promise<Opened> {
  const model = await startModelServer({ key: 'the-key' });
  const tools = await startToolServer(stand);
  const home = join(stand.folder, 'home');
  mkdirSync(home);
  const executor = executorIn({
    folder: join(stand.folder, 'ledger'),
    identityOf,
    launch: async () => ({
      argv,
      env: { PATH: process.env['PATH'] ?? '', HOME: home, ...env(model) },
      cwd: stand.files,
      workdir: stand.files,
      confined: false,
      dispose: async () => undefined,
    }),
    tools: (spec) => ({ url: tools.url, token: tools.tokenOf(spec) }),
    approve: async () => 'approve',
    policy: 'boundary',
    ownTools: ['a2a_check_updates', 'a2a_subtask_complete'],
    graces: { eofMs: 10_000, termMs: 1_000 },
  });
  return {
    executor,
    prompt: (script) => withModelScript('Do this.', script),
    release: (name) => model.release(name),
    held: (name) => model.held(name),
    async [Symbol.asyncDispose]() {
      await model.stop();
      await tools[Symbol.asyncDispose]();
    },
  };
}
