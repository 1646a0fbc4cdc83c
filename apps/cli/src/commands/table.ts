import { command, type Command } from '../command/spec.ts';
import { actCommands, swap } from './acts.ts';
import { agentCommands } from './agent.ts';
import { attach } from './attach.ts';
import { budget } from './budget.ts';
import { completionOf } from './completion.ts';
import { config } from './config.ts';
import { serviceCommands } from './daemon-service.ts';
import { daemonCommands } from './daemon.ts';
import { dashboard } from './dashboard.ts';
import { doctor } from './doctor.ts';
import { hook } from './hook.ts';
import { inboxCommands } from './inbox.ts';
import { init } from './init.ts';
import { logs } from './logs.ts';
import { mcp } from './mcp.ts';
import { planCommands } from './plan.ts';
import { run } from './run.ts';
import { send } from './send.ts';
import { spawn } from './spawn.ts';
import { status } from './status.ts';
import { stop } from './stop.ts';
import { workCommands } from './work.ts';

const demo = command({
  name: 'demo',
  group: 'Begin',
  summary: 'runs a plan with scripted agents, shown live; needs no key and no model',
  usage: '',
  about: '',
  options: {
    speed: { type: 'string', value: 'N', means: 'N times as fast' },
    keep: { type: 'boolean', means: 'keep what it made' },
  },
  json: 'every event as a line, then the summary.',
  run: () => Promise.resolve(),
  byItself: async (args) => (await import('../demo/command.ts')).demo(args),
});

/**
 * Every command there is, in the order of the help. A command's file is loaded to know what there is, so it loads
 * nothing large before it runs.
 */
export const COMMANDS: readonly Command[] = [
  init,
  demo,
  doctor,
  config,
  mcp,
  hook,
  completionOf(() => COMMANDS),
  ...planCommands,
  run,
  spawn,
  attach,
  dashboard,
  status,
  logs,
  send,
  ...actCommands,
  swap,
  budget,
  stop,
  ...inboxCommands,
  ...workCommands,
  ...agentCommands,
  ...daemonCommands,
  ...serviceCommands,
];
