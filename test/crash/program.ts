import { writeSync } from 'node:fs';
import { DEFAULTS, Engine } from '@reveille/core';
import { ERRORS, isReveilleError } from '@reveille/protocol';
import { openSqlite, type Backend } from '@reveille/stores';

/**
 * The smallest program with an engine in it: `program.ts <database>`. It says `up`, keeps a session it opens, and ends in
 * order at SIGTERM. What goes wrong is one sentence on stderr and the exit code of the table, as any door does it.
 */
const clock = {
  now: Date.now,
  mono: () => performance.now(),
  after: (ms: number, fire: () => void) => {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

let count = 0;
try {
  await main(await openSqlite({ path: process.argv[2] ?? '', clock }));
} catch (error) {
  if (!isReveilleError(error)) throw error;
  writeSync(2, `reveille: ${error.message}\n`);
  process.exitCode = ERRORS[error.code].exit;
}

async function main(backend: Backend): Promise<void> {
  const engine = new Engine({
    ...backend,
    clock,
    random: {
      next: Math.random,
      id: () => `${Date.now().toString(36)}${(++count).toString(36).padStart(4, '0')}`,
    },
    host: 'this-host',
    executors: { backends: () => [], get: () => undefined },
    agents: { names: () => [] },
    settings: DEFAULTS,
  });
  await engine.start();
  const session = await engine.as({ kind: 'person', name: 'tester' }).openSession('chat', 'a chat');
  const told = new Promise((resolve) => process.once('SIGTERM', resolve));
  writeSync(1, `up ${session.id}\n`);
  await told;
  await engine.stop();
  await backend.close();
}
