// A process to be killed: goes on with the engine on a world that lies there, and carries out one operation.
//   node victim.ts <scene> <folder> prepare|act|again [<at> self|group [<name of acts>]]
import { join } from 'node:path';
import { beginCounting, endCounting } from './mutations.ts';
import { gitIn, openDatabase, openEngine } from '../../shop.ts';
import { SCENES, type Stage } from './scenes.ts';

const [name = '', folder = '', mode = '', at = '0', victims = 'self', named = ''] = process.argv.slice(2);
const scene = SCENES.get(name);
if (!scene) throw new Error(`There is no scene ${name}.`);
const root = join(folder, 'shop');
const backend = await openDatabase(folder);
const life = await openEngine(backend, { root });
// As a daemon does when it starts: whatever an earlier life left half done is settled.
const tasks = (await life.person.listTasks({})).map(({ task }) => task);
await life.boundary.worktrees.orphans(tasks);
const stage: Stage = { person: life.person, root };
const say = (word: string, data: unknown): void =>
  void process.stdout.write(`${JSON.stringify({ [word]: data })}\n`);
if (mode === 'prepare') await scene.prepare(stage);
if (mode === 'again') {
  const git = gitIn(root);
  say('settled', { head: git('rev-parse', 'HEAD'), status: git('status', '--porcelain') });
  say('answer', await scene.again(stage));
}
if (mode === 'act') {
  const acts: string[] = [];
  beginCounting({
    at: Number(at),
    victims: victims === 'group' ? 'group' : 'self',
    named: new RegExp(named),
    note: (act, isLast) => {
      acts.push(act);
      if (isLast) say('killed', act);
    },
  });
  await scene.act(stage);
  endCounting();
  say('acts', acts);
}
await life.close();
await backend.close();
