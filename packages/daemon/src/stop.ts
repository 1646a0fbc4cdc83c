import { setTimeout as sleep } from 'node:timers/promises';
import type { Composition } from './compose/compose.ts';
import type { Config } from './config/schema.ts';
import type { Log } from './log/log.ts';

interface Stopping {
  readonly composition: Pick<Composition, 'engine' | 'stopClaiming'>;
  readonly limits: Pick<Config['daemon'], 'drainMs' | 'stopMs'>;
  readonly log: Log;
  readonly step: (phase: 'draining' | 'stopping') => void;
}

const LOOK_MS = 25;

/**
 * 1. Nothing new is claimed; turns that are executing have a while to come to their end, and everybody is answered.
 * 2. The agents are asked to stop (each executor asks, aborts, then kills), and calls that wait are told so.
 * 3. Whatever has not stopped by then is left: its run is taken up by the next start, as after a crash.
 */
export async function stopInSteps({ composition, limits, log, step }: Stopping): Promise<void> {
  const { engine } = composition;
  step('draining');
  composition.stopClaiming();
  const executing = (): number =>
    [...engine.host.scheduler.runs.values()].filter((run) => run.executing).length;
  const until = performance.now() + limits.drainMs;
  while (executing() > 0 && performance.now() < until) await sleep(LOOK_MS);
  step('stopping');
  if (executing() > 0) log.info('agents are asked to stop', { executing: executing() });
  const stopped = engine.stop().then(
    () => true,
    (error: unknown) => {
      log.error('the engine did not stop well', { error });
      return true;
    },
  );
  const late = new AbortController();
  const inTime = await Promise.race([
    stopped,
    sleep(limits.stopMs, false, { signal: late.signal }).catch(() => true),
  ]);
  late.abort();
  if (!inTime)
    log.warn('agents did not stop in time; the next start goes on with their runs', {
      executing: executing(),
    });
}
