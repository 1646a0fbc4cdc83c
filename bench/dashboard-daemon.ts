import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, openLog, openPlace, placeOf, standardParts, startDaemon } from '@reveille/daemon';
import { scriptedExecutor, type Script } from '@reveille/executors';
import type { Store } from '@reveille/core';
import type { Caller, Orchestrator, PlanInput, TaskId } from '@reveille/protocol';
import { clock } from './world.ts';

/** How many events a second are to be made from now on; 0 is none. */
export interface Pace {
  readonly perSecond: number;
}
/** What there is when everything has begun. */
export interface Begun {
  readonly url: string;
  readonly tasks: number;
  readonly running: number;
  readonly plans: Readonly<Record<'large' | 'middle', string>>;
  readonly worker: TaskId;
}

const LONG = 86_400_000;
const PULSE_MS = 20;
/** Queued, delivered, read, and for those who rested a turn. */
const EVENTS_PER_MESSAGE = 4;
const RETRY_EVERY = 400;

/** Is in one long turn and takes what it is told there. */
const works: Script = async (agent) => {
  agent.say('I read the sources first.');
  agent.use({ tokens: 12_000, usd: 0.12 });
  await agent.work(LONG);
};
/** Has a turn for each message, and rests in between. */
const wakes: Script = async (agent) => {
  if (agent.turn.turn > 1) agent.say(`Woken for the ${agent.turn.turn}. time.`);
  agent.use({ tokens: 300, usd: 0.002 });
  await agent.rest();
};
const done: Script = async (agent) => void (await agent.report('success', 'Done.'));
const fails: Script = async (agent) => void (await agent.report('failed', 'It does not build.'));
const splits: Script = async (agent) => {
  const children = Array.from({ length: 99 }, (_, i) => ({
    prompt: `part ${i}`,
    name: `Part ${i}`,
    agentType: i < 95 ? 'done' : 'wakes',
  }));
  if (agent.turn.turn === 1) await agent.spawnMany(children);
  await agent.rest();
};

type Kind = 'works' | 'wakes' | 'done' | 'fails' | 'splits';

/** A plan in layers: what can begin at once, by kind, and then what waits for three of the layer before. */
function planOf(
  name: string,
  first: Readonly<Partial<Record<Kind, number>>>,
  { layers, wide }: { readonly layers: number; readonly wide: number },
): PlanInput {
  const begins = Object.entries(first).flatMap(([kind, n]) => Array.from({ length: n }, () => kind));
  const tasks = begins.map((agent, i) => ({
    id: `0.${i}`,
    name: `${name}: ${agent} ${i}`,
    agent,
    prompt: 'Do it.',
    dependencies: [] as string[],
  }));
  // What follows waits for those who never end.
  let before = tasks.filter(({ agent }) => agent === 'works').map(({ id }) => id);
  for (let layer = 1; layer <= layers; layer++) {
    const made = Array.from({ length: wide }, (_, i) => ({
      id: `${layer}.${i}`,
      name: `${name}: step ${layer}.${i}`,
      agent: 'later',
      prompt: 'Do it.',
      dependencies: [0, 1, 7].map((k) => before[(i + k) % before.length] ?? ''),
    }));
    tasks.push(...made);
    before = made.map(({ id }) => id);
  }
  return { name, integrate: false, tasks };
}

// The daemon as it is in production, but for its agents.
const [, , folder = ''] = process.argv;
const place = placeOf({ REVEILLE_HOME: join(folder, 'state') });
openPlace(place);
const MANY = '1000000';
const { config } = loadConfig({
  flags: {
    'engine.concurrency': '2000',
    'engine.children.total': MANY,
    'engine.children.open': MANY,
    'engine.children.perMinute': MANY,
    'engine.health.inactiveAfterMs': String(LONG),
    'engine.health.stuckAfterMs': String(LONG),
    'engine.health.progressEveryMs': String(LONG),
  },
});
const log = openLog({ path: place.log, ...config.logs });
const standard = await standardParts({ config, place, log, url: 'http://127.0.0.1:1' });
const scripts = { works, wakes, done, fails, splits, later: works };
const inside: { connect?: (caller: Caller) => Orchestrator; store?: Pick<Store, 'lastEvent'> } = {};
const daemon = await startDaemon({
  place,
  config,
  log,
  parts: {
    ...standard,
    store: (store) => (inside.store = store) && store,
    agents: () => ({ names: () => Object.keys(scripts) }),
    executors: ({ connect }) => {
      inside.connect = connect;
      const executor = scriptedExecutor({ connect, clock, scripts, steers: true });
      return { backends: () => ['scripted'], get: () => executor };
    },
  },
});
const { store } = inside;
const person = inside.connect?.({ kind: 'person', name: 'bench' });
if (!person || !store) throw new Error('the daemon asked for no parts');

await begin(person);
await settled();
const all = await person.listTasks({});
const awake = all.filter(({ run }) => run?.state === 'open').map(({ task }) => task.id);
const failed = all.filter(({ task }) => task.state === 'failed').map(({ task }) => task.id);
process.on('disconnect', () => process.exit());
process.on('message', (pace: Pace) => void drive(pace));
process.send?.(summary());

function summary(): Begun {
  const plan = (name: string): string => all.find(({ task }) => task.name.startsWith(name))?.task.plan ?? '';
  const worker = all.find(({ task }) => task.name.startsWith('Middle: works'))?.task.id;
  if (!worker) throw new Error('no worker was made');
  return {
    url: daemon.url,
    tasks: all.length,
    running: all.filter(({ task }) => task.state === 'running').length,
    plans: { large: plan('Large'), middle: plan('Middle') },
    worker,
  };
}

async function begin(own: Orchestrator): Promise<void> {
  const plans = [
    planOf('Large', { works: 300, wakes: 40, done: 1_660 }, { layers: 4, wide: 1_000 }),
    planOf('Middle', { works: 100, wakes: 20, fails: 5, done: 75 }, { layers: 3, wide: 100 }),
    planOf('Split', { splits: 10 }, { layers: 0, wide: 0 }),
    ...Array.from({ length: 25 }, (_, i) =>
      planOf(`Small ${i}`, { works: 4, wakes: 1, done: 35 }, { layers: 3, wide: 20 }),
    ),
  ];
  for (const plan of plans) await own.savePlan(plan, { start: true });
}

/** Everything has begun when nothing happens any more. */
async function settled(): Promise<void> {
  for (let before = -1, now = 0; now !== before;) {
    before = now;
    await sleep(1_500);
    now = (await store?.lastEvent()) ?? 0;
  }
}

let current = 0;

/** Mail to those at work, round and round; now and then something that failed is tried again, and fails again. */
async function drive({ perSecond }: Pace): Promise<void> {
  const mine = ++current;
  const base = (await store?.lastEvent()) ?? 0;
  const began = performance.now();
  for (let next = 0; mine === current && perSecond > 0; await sleep(PULSE_MS)) {
    const due = ((performance.now() - began) / 1_000) * perSecond;
    const missing = due - (((await store?.lastEvent()) ?? 0) - base);
    const wanted = Math.ceil(Math.max(0, missing) / EVENTS_PER_MESSAGE);
    const calls = Array.from({ length: wanted }, () => tell(awake[next++ % awake.length], next));
    if (next % RETRY_EVERY < calls.length) calls.push(again(failed[next % failed.length]));
    // Whoever has just ended takes none.
    await Promise.allSettled(calls);
  }
}

async function tell(to: TaskId | undefined, n: number): Promise<void> {
  if (to) await person?.sendMessage({ to, message: `A word in between, the ${n}. of them.` });
}

async function again(task: TaskId | undefined): Promise<void> {
  if (task) await person?.retryTask(task);
}
