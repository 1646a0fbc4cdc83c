import { join } from 'node:path';
import { loadConfig, openLog, openPlace, placeOf, standardParts, startDaemon } from '@reveille/daemon';
import type { Agent, Executor, StartSpec } from '@reveille/core';

/** A run that was started, with what its agent comes back with. */
export interface Started {
  readonly task: string;
  readonly credential: string;
}
/** Agents that are elsewhere: whoever started this process plays them, each by a connection of its own. */
function elsewhere(credentialOf: (run: StartSpec) => string): Executor {
  const start = (spec: StartSpec): Agent => {
    spec.report({ type: 'started', identity: null, resume: null });
    return {
      turn() {
        const started: Started = { task: spec.task.id, credential: credentialOf(spec) };
        process.send?.(started);
      },
      steer: async () => 'refused',
      interrupt: () => undefined,
      seen: async () => new Map(),
      async stop(reason) {
        spec.report({ type: 'exited', detail: reason });
      },
    };
  };
  return { steers: false, start, reap: async () => undefined };
}

// The daemon as it is in production, but for its agents.
const [, , folder = ''] = process.argv;
const place = placeOf({ REVEILLE_HOME: join(folder, 'state') });
openPlace(place);
const { config } = loadConfig({
  flags: { 'engine.children.total': '1000000', 'engine.children.perMinute': '1000000' },
});
const log = openLog({ path: place.log, ...config.logs });
const standard = await standardParts({ config, place, log, url: 'http://127.0.0.1:1' });
const daemon = await startDaemon({
  place,
  config,
  log,
  parts: {
    ...standard,
    executors: ({ credentialOf }) => {
      const executor = elsewhere(credentialOf);
      return { backends: () => ['scripted'], get: () => executor };
    },
  },
});
process.on('disconnect', () => process.exit());
process.send?.(daemon.url);
