// npm run bench:agents [-- claude codex …] [--starts 5] [--rounds 20] [--sessions 4]; 0 leaves a measure out.
//
// The real agents of their vendors through Reveille, each beside the same agent alone, in the same run, on a scripted
// model: from start to the first call of the model, the wake-up of one that rests, and the memory of the daemon.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { REAL_AGENTS, isRealAgent, withModelScript, type RealAgent } from '@reveille/model-server';
import { startBare } from './agents-bare.ts';
import { AgentsWorld, childOf, report, type Installed } from './agents-world.ts';
import { percentile, temporaryFolder } from './world.ts';

const { AGENTS } = (await import(new URL('../scripts/agents.mjs', import.meta.url).href)) as {
  AGENTS: { readonly packages: Record<RealAgent, string>; readonly folderOf: (name: string) => string };
};
const folderOf = (name: string): string => AGENTS.folderOf(name);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    starts: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '4' },
  },
});
const [rounds, starts, sessions] = [values.rounds, values.starts, values.sessions].map(Number) as [
  number,
  number,
  number,
];
const wanted = positionals.length > 0 ? positionals.filter(isRealAgent) : REAL_AGENTS;
const there = wanted.filter((name) => existsSync(join(folderOf(name), 'node_modules')));
for (const name of wanted)
  if (!there.includes(name)) console.log(`– ${name} is not installed: node scripts/agents.mjs`);

const installed: Installed = Object.fromEntries(there.map((name) => [name, folderOf(name)]));
using folder = temporaryFolder();
await using world = await AgentsWorld.open(folder.path, installed);
const ms = (time: number): string => `${Math.round(time)} ms`;
console.log(
  `load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')} at the beginning`,
);
for (const name of there) {
  console.log(`\n${name} (${AGENTS.packages[name]})`);
  if (starts > 0) await measureStart(name);
  if (rounds > 0) await measureWake(name);
}
if (sessions > 0) await measureMemory();
console.log(
  `load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')} at the end`,
);

function line(met: boolean, what: string, value: string, goal: string): void {
  console.log(`${met ? '✓' : '✗'} ${what.padEnd(28)} ${value}; goal: ${goal}`);
}

/** From the wish to the first call of the model, in turn alone and through Reveille. */
async function measureStart(name: RealAgent): Promise<void> {
  const [alone, through]: [number[], number[]] = [[], []];
  for (let i = 0; i < starts; i++) {
    const mark = `ALONE-${name}-${i}.`;
    const began = performance.now();
    const bare = await startBare(name, bareIn(`start-${name}-${i}`, name));
    void bare.prompt(withModelScript(mark, { steps: [{ say: 'Done.' }] })).catch(() => undefined);
    alone.push((await world.arrival(mark)) - began);
    await bare[Symbol.asyncDispose]();
    const asked = performance.now();
    const { mark: own, view } = await world.begin(name, [report('done')]);
    through.push((await world.arrival(own)) - asked);
    await world.over(view);
  }
  const [bare50, ours50] = [percentile(alone, 50), percentile(through, 50)];
  const over = ours50 - bare50;
  const value = `${ms(ours50)} through Reveille, ${ms(bare50)} alone: ${over < 0 ? '−' : '+'}${ms(Math.abs(over))} (median of ${starts})`;
  line(over <= 300 || over <= 0.15 * bare50, 'start to first model call', value, '≤ 15 % or ≤ 300 ms over');
}

function bareIn(place: string, name: RealAgent) {
  return { installed: folderOf(name), model: world.model.url, folder: join(folder.path, place) };
}

/** From the word of a child's model to the request in which its parent's model has it; beside the agent's own prompt. */
async function measureWake(name: RealAgent): Promise<void> {
  const own = await ownLatency(name);
  const alone = await oneByOne(name);
  const [own50, p50, p99] = [percentile(own, 50), percentile(alone, 50), percentile(alone, 99)];
  const value = `p50 ${ms(p50)}, p99 ${ms(p99)}; its own prompt ${ms(own50)} (${rounds} rounds)`;
  line(p50 - own50 <= 40, 'wake-up at rest', value, 'p50 ≤ 40 ms over its own');
  const { times: burst, recorded } = await together(name, 19);
  const worst = Math.max(...burst);
  const spread = `p50 ${ms(percentile(burst, 50))}, max ${ms(worst)}, of it ${ms(recorded)} until the last child had reported`;
  line(worst <= 250, 'burst of 19', spread, 'max ≤ 250 ms');
}

async function ownLatency(name: RealAgent): Promise<number[]> {
  await using bare = await startBare(name, bareIn(`own-${name}`, name));
  const mark = `OWN-${name}.`;
  const steps = Array.from({ length: rounds + 1 }, () => ({ say: 'Yes.' }));
  await bare.prompt(withModelScript(mark, { steps }));
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const word = `word-${name}-${i}.`;
    const began = performance.now();
    const turn = bare.prompt(word);
    times.push((await world.arrival(mark, word)) - began);
    await turn;
  }
  return times;
}

async function oneByOne(name: RealAgent): Promise<number[]> {
  const answers = Array.from({ length: rounds }, (_, i) => `the answer ${name}-${i}.`);
  const steps = answers.flatMap((answer, i) => [
    {
      call: 'a2a_spawn_subtask',
      input: { ...childOf({ hold: answer, ...report(answer) }), key: `${i}`, blocking: false },
    },
    { say: 'I wait.', until: answer },
  ]);
  const { mark, view } = await world.begin(name, [...steps, report('done')]);
  const times: number[] = [];
  for (const answer of answers) {
    await world.until(() => world.model.held(answer) === 1);
    await world.rests(view);
    const began = performance.now();
    world.model.release(answer);
    times.push((await world.arrival(mark, answer)) - began);
  }
  await world.over(view);
  return times;
}

/** All in one moment. Most of it is the children's own: each reads its model's answer and reports. */
async function together(
  name: RealAgent,
  children: number,
): Promise<{ readonly times: number[]; readonly recorded: number }> {
  const answers = Array.from({ length: children }, (_, i) => `the burst ${name}-${i}.`);
  const hold = `burst-${name}`;
  const subtasks = answers.map((answer) => childOf({ hold, ...report(answer) }));
  const { mark, view } = await world.begin(name, [
    { call: 'a2a_spawn_parallel_subtasks', input: { subtasks } },
    ...answers.map((answer) => ({ say: 'I wait.', until: answer })),
    report('done'),
  ]);
  await world.until(() => world.model.held(hold) === children);
  await world.rests(view);
  const [began, at] = [performance.now(), Date.now()];
  world.model.release(hold);
  const arrived = await Promise.all(answers.map((answer) => world.arrival(mark, answer)));
  const mail = await world.client.mailbox(view.task.session);
  const ends = mail.filter(({ kind }) => kind === 'end').map((end) => end.at - at);
  await world.over(view);
  return { times: arrived.map((time) => time - began), recorded: Math.max(...ends) };
}

/** So many of each, all at rest. */
async function measureMemory(): Promise<void> {
  const before = world.daemonMb;
  const views = [];
  for (const name of there)
    for (let i = 0; i < sessions; i++) {
      const hold = `memory-${name}-${i}`;
      const child = { ...childOf({ hold, say: 'never' }), blocking: false };
      const { view } = await world.begin(name, [
        { call: 'a2a_spawn_subtask', input: child },
        { say: 'I wait.' },
      ]);
      await world.until(() => world.model.held(hold) === 1);
      await world.rests(view);
      views.push(view);
    }
  const after = world.daemonMb;
  const value = `${Math.round(after)} MB, ${Math.round(before)} MB before`;
  console.log(
    `\n  daemon with ${views.length} real sessions  ${value} (${sessions} of each: ${there.join(', ')})`,
  );
  await Promise.all(views.map((view) => world.over(view)));
}
