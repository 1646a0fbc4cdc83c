// The daemon of the suite: the real one, whose scripted agents do what is written beside the repository they work on.
import type { Executor, Executors } from '@reveille/core';
import { loadConfig, openLog, openPlace, placeOf, startDaemon, type World } from '@reveille/daemon';
import { scriptedExecutor } from '@reveille/executors';
import type { TaskId } from '@reveille/protocol';
import { playCase } from './agent.ts';

process.umask(0o077);
const place = placeOf(process.env);
openPlace(place);
const { config } = loadConfig({ env: process.env, userFile: place.userConfig });
const log = openLog({ path: place.log, ...config.logs });
const daemon = await startDaemon({
  place,
  config,
  log,
  around: (parts) => ({
    ...parts,
    executors: (world) => withPlayers(parts.executors(world), world),
  }),
});
// Whoever started it has gone, or wants it to end.
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => void daemon.stop('the suite is over'));
process.send?.('ready');
await daemon.done;
process.exit(0);

function withPlayers(usual: Executors, { clock, connect }: World): Executors {
  const worktrees = new Map<TaskId, string>();
  const played = scriptedExecutor({
    clock,
    connect,
    otherwise: playCase((task) => worktrees.get(task) ?? '/nonexistent'),
  });
  const scripted: Executor = {
    ...played,
    start(spec) {
      worktrees.set(spec.task.id, spec.workspace?.path ?? '');
      return played.start(spec);
    },
  };
  return { ...usual, get: (name) => (name === 'scripted' ? scripted : usual.get(name)) };
}
