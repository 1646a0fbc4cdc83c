import { createHash } from 'node:crypto';
import { expand } from './options.ts';
import { People } from './people.ts';
import { checkRest, unfinished } from './rest.ts';
import { quiesce } from './timeline.ts';
import { Unclaimed } from './unclaimed.ts';
import { Watch } from './watch.ts';
import type { Host } from './host.ts';
import { World, type Failure } from './world.ts';

/** Far more than the longest pause the engine may make on purpose (five minutes for a rate limit). */
const QUIET_MS = 20 * 60_000;
const MAX_STEPS = 200_000;

export interface SeedResult {
  readonly seed: number;
  readonly failure: Failure | null;
  readonly virtualMs: number;
  readonly steps: number;
  readonly events: number;
  readonly struck: ReadonlyMap<string, number>;
  readonly sights: ReadonlyMap<string, number>;
  readonly hash: string | null;
}

export interface SimulateOptions {
  readonly trace?: (line: string) => void;
  /** Makes a hash of the whole trace: the same seed has the same. */
  readonly hash?: boolean;
}

/** One world, from its beginning to its rest. Never throws for what goes wrong inside it. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<SeedResult> {
  const hash = options.hash ? createHash('sha256') : null;
  const say = options.trace;
  const trace =
    say || hash ? (line: string): void => void (say?.(line), hash?.update(line).update('\n')) : null;
  const world = new World(expand(seed), trace);
  await Promise.resolve();
  const stray = (error: unknown): void =>
    world.fail('engine', `nobody waited for ${error instanceof Error ? error.stack : String(error)}`);
  process.on('unhandledRejection', stray);
  let steps = 0;
  try {
    steps = await live(world);
  } catch (error) {
    world.fail('engine', `the world itself failed: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    process.off('unhandledRejection', stray);
  }
  return {
    seed,
    failure: world.failure,
    virtualMs: world.timeline.now,
    steps,
    events: world.auditor.ledger.facts.length,
    struck: world.faults.struck,
    sights: world.auditor.sights.seen,
    hash: hash?.digest('hex') ?? null,
  };
}

async function live(world: World): Promise<number> {
  const people = new People(world);
  for (const host of world.hosts) host.boot();
  await quiesce();
  scheduleDeeds(world, people);
  for (const host of world.hosts) scheduleFaults(world, host);
  let steps = 0;
  const watch = new Watch(world);
  const unclaimed = new Unclaimed(world);
  let restSince: number | null = null;
  let nextLook = 0;
  const { activeMs } = world.options;
  while (!world.failure && steps++ < MAX_STEPS && (await world.timeline.step())) {
    const { now } = world.timeline;
    unclaimed.look();
    if (!world.quiet && now >= activeMs) beQuiet(world, people);
    if (!world.quiet || now < nextLook) continue;
    nextLook = now + 500;
    watch.look();
    restSince = unfinished(world).length === 0 ? (restSince ?? now) : null;
    // A while longer: what is at rest must stay so.
    if (restSince !== null && now - restSince > 6_000) break;
    if (now > activeMs + QUIET_MS) break;
  }
  const left = unfinished(world);
  world.check(
    steps < MAX_STEPS,
    'liveness',
    () => `no rest after ${MAX_STEPS} steps: ${left.slice(0, 6).join('; ')}`,
  );
  world.check(
    left.length === 0,
    'liveness',
    () => `nothing happens any more and this is left: ${left.slice(0, 8).join('; ')}`,
  );
  if (!world.failure) checkRest(world);
  return steps;
}

function scheduleDeeds(world: World, people: People): void {
  const { timeline, chance, options } = world;
  timeline.after(1, () => void people.savePlan());
  world.onFailed = (task) => {
    if (!world.quiet && world.has('retry') && chance.hit(0.5))
      timeline.after(chance.int(0, 1_500), () => void people.retrySoon(task));
  };
  const deeds = chance.int(2, 8 + Math.round(options.activeMs / 4_000));
  for (let i = 0; i < deeds; i++) timeline.after(chance.skewed(5, options.activeMs), () => void people.act());
}

/** Faults that come by themselves, now and then, to one host. */
function scheduleFaults(world: World, host: Host): void {
  const { timeline, chance, options } = world;
  const often = (fault: Parameters<World['strikes']>[0], strike: () => void): void => {
    if (!options.faults.has(fault)) return;
    const times = chance.int(1, Math.max(1, Math.round(2 * options.wildness)));
    for (let i = 0; i < times; i++)
      timeline.after(chance.skewed(1, options.activeMs), () => world.strikes(fault, 1) && strike());
  };
  often('crash_any_time', () => host.life && world.crash(host.life, 'out of the blue'));
  often('stall', () => host.stall(chance.pick([50, 3_000, 14_000, 20_000, 40_000]) ?? 50));
  often('wall_jump', () => {
    const ms = chance.pick([-3_600_000, -1_500, 900, 60_000, 7_200_000]) ?? 900;
    host.wallOffset += ms;
    world.say(host.life, `its wall clock jumps by ${ms} ms`);
  });
  often('wall_set_back', () => {
    host.wallOffset -= 3_600_000;
    world.say(host.life, 'its wall clock is set back by an hour');
  });
  often('laptop_sleeps', () => {
    const ms = chance.int(10_000, 8 * 3_600_000);
    for (const each of world.hosts) each.wallOffset += ms;
    world.say(null, `everything sleeps for ${ms} ms of the wall clock`);
  });
  often('disk_full', () => {
    const ms = chance.skewed(20, 20_000);
    world.diskFull = true;
    world.faults.last(ms);
    timeline.after(ms, () => (world.diskFull = false));
  });
  for (const [fault, how] of [
    ['store_gone', 'gone'],
    ['store_hangs', 'hangs'],
  ] as const)
    often(fault, () => host.loseStore(how, chance.pick([100, 2_000, 13_500, 25_000, 30_000]) ?? 100));
}

/** From here on nothing goes wrong any more, and everybody does what is asked of them. */
function beQuiet(world: World, people: People): void {
  world.quiet = true;
  world.diskFull = false;
  world.say(null, 'the quiet phase begins');
  for (const host of world.hosts) {
    host.storeBack();
    for (const process of host.processes.values()) process.speakUp();
  }
  const tidy = (): void => {
    void people.tidy();
    world.timeline.after(2_000, tidy);
  };
  tidy();
}
