// A process to be killed: opens the engine on a database and goes on with whatever it finds, until the plan has ended.
//   node victim.ts <folder> <repository> [<plan as JSON>]
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, openEngine, savePlan, type Part } from '../../../../test/shop.ts';

const [folder = '', root = '', tasks] = process.argv.slice(2);
const backend = await openDatabase(folder);
const life = await openEngine(backend, { root });
const { person, warnings } = life;
const [known] = await person.listPlans();
const plan = known?.id ?? (await savePlan(person, root, JSON.parse(tasks ?? '{}') as Record<string, Part>));
process.stdout.write('up\n');
for (;;) {
  const view = await person.getPlan(plan);
  if (view.plan.state !== 'active') {
    const ends = (await person.listTasks({})).map(({ task, end }) => ({
      name: task.name,
      state: task.state,
      why: task.why,
      work: end?.work ?? null,
    }));
    process.stdout.write(`${JSON.stringify({ state: view.plan.state, ends, warnings })}\n`);
    break;
  }
  await sleep(20);
}
await life.close();
await backend.close();
