import { ACTION_KINDS, choicesOf, takesFreeText, type Action, type Request } from '@reveille/protocol';
import type { Process } from './process.ts';
import type { MoreDoing } from './steered.ts';
import type { World } from './world.ts';

/** What an agent does that may need leave. */
export const WISHES: Readonly<Record<string, MoreDoing>> = {
  wish: { habit: 'permits', weight: 6, act: wish },
};

export function makeAction({ chance }: World): Action {
  const kind = chance.pick(ACTION_KINDS) ?? 'other';
  const held = chance.hit(0.7);
  const digest = `${kind} ${held ? 'held' : 'free'} ${chance.int(1, 2)}`;
  return { tool: kind, kind, command: null, paths: [], held, where: null, detail: '', digest };
}

/** Does something, or asks whether it may; what was not answered in time it tries again later, to the letter. */
async function wish(agent: Process): Promise<void> {
  for (let i = agent.world.chance.int(1, 5); i > 0; i--) await wishOnce(agent);
}

async function wishOnce(agent: Process): Promise<void> {
  const { world, mind } = agent;
  const { chance } = world;
  const action = (chance.hit(0.5) ? mind.action : null) ?? makeAction(world);
  const patienceMs = chance.pick([null, 0, 500, 8_000]) ?? null;
  const ask = (): ReturnType<Process['permit']> => agent.permit(action, patienceMs);
  const [permit] = await Promise.all(chance.hit(0.3) ? [ask(), ask()] : [ask()]);
  mind.action = permit?.allowed ? null : action;
}

/** An answer that the request takes: one of its choices, by any of its names, or other words where these are welcome. */
export function wordsFor({ chance }: World, request: Request | undefined, otherwise: string): string {
  if (!request || takesFreeText(request)) return otherwise;
  if (request.action) return chance.pick(['approve', 'approve', 'yes', 'deny: not now']) ?? 'approve';
  // More may be used by now than a raise would allow; that it is refused then is tried by `answerAtDoors`.
  if (request.kind === 'budget') return 'stop';
  const choices = choicesOf(request);
  const choice = chance.pick(choices.filter(({ id }) => id !== 'details' && id !== 'retry with'));
  if (!choice) return otherwise;
  if (choice.needsWords) return `${choice.id}: ${otherwise}`;
  return chance.pick([choice.id, choice.id, choice.label, `${choices.indexOf(choice) + 1}`]) ?? choice.id;
}
