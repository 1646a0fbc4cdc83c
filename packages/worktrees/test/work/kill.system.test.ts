import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { pull } from '../../src/work/pull.ts';
import { settleWork } from '../../src/work/settle-work.ts';
import { AGENT, makeWorld, type AgentPlace, type World } from './world.ts';

const CHILD = fileURLToPath(new URL('kill-child.ts', import.meta.url));
const KILLS = 3;
/** Each kill costs a new process, and machines are busy. */
const PATIENT = { timeout: 600_000 };
const FILES = 60;

/** Runs it to the end; how long it took. */
const timed = (what: string, ...places: AgentPlace[]): Promise<number> => run(what, places, null);

/** Kills the process, and with `group` all it started, so long after it has begun. */
async function run(
  what: string,
  places: readonly AgentPlace[],
  kill: { after: number; group: boolean } | null,
): Promise<number> {
  const args = places.map(({ checkout }) => JSON.stringify(checkout));
  const child = spawn(process.execPath, ['--conditions=source', CHILD, what, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  const begun = performance.now();
  if (kill) {
    await sleep(kill.after);
    // It may have ended by itself.
    if (child.exitCode === null) process.kill(kill.group ? -child.pid! : child.pid!, 'SIGKILL');
  }
  child.stdout.resume();
  const [code] = await exited;
  if (!kill) expect(code).toBe(0);
  return performance.now() - begun;
}

/** Half of the time all it started dies with it, half of the time that lives on for a moment. */
function* moments(duration: number): Generator<{ after: number; group: boolean }> {
  for (let i = 0; i < KILLS; i += 1)
    yield { after: (duration * (i + Math.random())) / KILLS, group: Math.random() < 0.5 };
}

function files(prefix: string, content: string, count = FILES): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`d${i % 7}/${prefix}${i}`, `${content}\n`]),
  );
}

const contents = (path: string, prefix: string): string[] =>
  Object.keys(files(prefix, '')).map((name) =>
    existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : 'none',
  );

/** Until no git that outlived its parent is at work here. */
async function quiet({ folder }: World): Promise<void> {
  const isHere = (pid: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
    } catch {
      // It has just ended, is a zombie, or belongs to somebody else.
      return false;
    }
  };
  while (readdirSync('/proc').some((name) => /^\d+$/.test(name) && isHere(name))) await sleep(10);
}

async function nothingLeft(world: World, agents: readonly AgentPlace[]): Promise<void> {
  await quiet(world);
  await settleWork(
    world.repository,
    agents.map(({ checkout }) => checkout),
  );
  for (const { checkout } of agents) expect(readdirSync(join(checkout.room, 'scratch'))).toEqual([]);
  expect(world.home.git('for-each-ref', 'refs/reveille/fence')).toBe('');
  world.healthy();
}

test(
  '[WKT1.28] killed at any moment of an import: the next one ends as if nothing had happened',
  PATIENT,
  async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    agent.commit(files('f', 'first'));
    const duration = await timed('import', agent);
    for (const moment of moments(duration)) {
      const tip = agent.commit(files('f', String(moment.after)));
      await run('import', [agent], moment);
      expect(await importBranch(agent.checkout)).toMatchObject({ tip, problem: null });
      await quiet(world);
      expect(await importBranch(agent.checkout)).toMatchObject({ tip, problem: null });
      expect(world.home.git('rev-parse', agent.checkout.branch)).toBe(tip);
    }
    await nothingLeft(world, [agent]);
  },
);

test(
  '[WKT6.18] killed at any moment of committing leftovers: one commit, with everything',
  PATIENT,
  async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    agent.write(files('f', 'first'));
    const duration = await timed('leftovers', agent);
    for (const moment of moments(duration)) {
      const before = world.home.git('rev-parse', agent.checkout.branch);
      agent.write(files('f', String(moment.after)));
      await run('leftovers', [agent], moment);
      const { tip } = await commitLeftovers(agent.checkout, AGENT);
      expect(world.home.git('rev-list', '--count', `${before}..${tip}`)).toBe('1');
      expect(world.home.git('grep', '-c', '-F', String(moment.after), tip).split('\n')).toHaveLength(FILES);
      await quiet(world);
      expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ tip });
    }
    await nothingLeft(world, [agent]);
  },
);

test(
  '[WKT6.35] killed at any moment of a pull: all of it is there or none, and the parent’s own changes are',
  PATIENT,
  async () => {
    using world = await makeWorld({ ...files('f', 'base'), ...files('gone', 'gone', 20) });
    const parent = await world.checkout('parent');
    const child = await world.checkout('child');
    parent.write({ 'own.txt': 'own\n', 'd0/f0.mine': 'mine\n' });
    child.git('rm', '-q', ...Object.keys(files('gone', '', 20)));
    child.commit({ ...files('f', '0'), ...files('n', '0') });
    const duration = await timed('pull', child, parent);
    let last = '0\n';
    for (const moment of moments(duration)) {
      const next = `${moment.after}\n`;
      child.commit({ ...files('f', next.trim()), ...files('n', next.trim()) });
      await run('pull', [child, parent], moment);
      await settleWork(world.repository, [parent.checkout, child.checkout]);
      const found = new Set([...contents(parent.path, 'f'), ...contents(parent.path, 'n')]);
      expect([[last], [next]]).toContainEqual([...found]);
      await quiet(world);
      expect(await pull(child.checkout, parent.checkout)).toMatchObject({ merged: true });
      expect(new Set([...contents(parent.path, 'f'), ...contents(parent.path, 'n')])).toEqual(
        new Set([next]),
      );
      expect(readFileSync(join(parent.path, 'own.txt'), 'utf8')).toBe('own\n');
      last = next;
    }
    await nothingLeft(world, [parent, child]);
  },
);

test(
  '[PLN6.13] killed at any moment of bringing work home: before or after, clean, and no lock',
  PATIENT,
  async () => {
    using world = await makeWorld(files('f', 'base'));
    const { home, repository } = world;
    const agent = await world.checkout('task');
    agent.git('rm', '-q', 'd0/f0');
    agent.commit({ ...files('n', '0') });
    await importBranch(agent.checkout);
    const duration = await timed('home', agent);
    for (const moment of moments(duration)) {
      const before = home.head();
      const tip = agent.commit({ ...files('n', String(moment.after)), 'd1/extra': String(moment.after) });
      await importBranch(agent.checkout);
      await run('home', [agent], moment);
      await settleWork(repository, [agent.checkout]);
      await quiet(world);
      expect(home.git('status', '--porcelain')).toBe('');
      expect([before, tip]).toContain(home.head());
      expect(await bringHome(repository, agent.checkout.branch)).toMatchObject({ merged: true, commit: tip });
      expect([home.head(), home.git('status', '--porcelain')]).toEqual([tip, '']);
    }
    await nothingLeft(world, [agent]);
  },
);
