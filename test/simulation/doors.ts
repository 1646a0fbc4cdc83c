import { ReveilleError, takesFreeText, type Orchestrator, type Request } from '@reveille/protocol';
import type { Life } from './life.ts';
import { asCaller } from './seats.ts';
import type { MoreDeed } from './steering.ts';
import { wordsFor } from './wishes.ts';
import type { World } from './world.ts';

/** Several doors to one inbox, and people who do not read what they are asked. */
export const DOORS: Readonly<Record<string, MoreDeed>> = {
  answerAtDoors: { habit: 'doors', weight: 4, act: answerAtDoors },
  answerNonsense: { habit: 'nonsense', weight: 2, act: answerNonsense },
};

const CHOICES: { readonly [K in Request['kind']]?: readonly string[] } = {
  failure: ['retry', 'cancel', 'retry with coder', 'retry with model large'],
  idle: ['keep waiting', 'remind', 'mark complete', 'cancel'],
  budget: ['raise', 'stop', 'raise tokens=900 turns=90'],
  plan: ['approve', 'changes: smaller', 'cancel', '2 rather something else'],
  escape: ['seen'],
};
const REFUSALS: ReadonlySet<string> = new Set([
  'already_answered',
  'wrong_state',
  'not_allowed',
  'invalid_input',
]);

function anyOpen(world: World, fits: (request: Request) => boolean): Request | undefined {
  const open = [...world.auditor.ledger.rows.request.values()].filter(
    (request) => request.state === 'open' && request.kind !== 'review' && fits(request),
  );
  return world.chance.pick(open);
}

/** The same request at two or three doors at once, each with its own mind: one of them counts. */
async function answerAtDoors(world: World, person: Orchestrator): Promise<void> {
  const request = anyOpen(world, () => true);
  if (!request) return;
  const { chance } = world;
  const doors = [person, ...otherDoors(world, request)];
  const answer = async (door: Orchestrator): Promise<void> => {
    const own = wordsFor(world, request, `answer ${world.nextPid()}`);
    const words = chance.pick(CHOICES[request.kind] ?? []) ?? own;
    await door.answer({ request: request.id, answer: words });
    world.acknowledged(request.id, words);
  };
  const all = await Promise.allSettled(doors.map(answer));
  for (const one of all) if (one.status === 'rejected') checkRefusal(one.reason, REFUSALS);
}

/** Another host's, and that of whoever holds it or gave the work, if that is somebody's client. */
function otherDoors(world: World, request: Request): Orchestrator[] {
  const { rows } = world.auditor.ledger;
  const life: Life | null = world.anyLife();
  if (!life) return [];
  const owner = rows.session.get(rows.task.get(request.task)?.owner ?? '');
  const client =
    owner?.task === null && owner.state === 'open' && owner.kind !== 'terminal' ? owner.id : null;
  return [
    asCaller(world, life, { kind: 'person', name: 'q' }),
    ...(client ? [asCaller(world, life, { kind: 'session', session: client })] : []),
  ];
}

function checkRefusal(error: unknown, expected: ReadonlySet<string>): void {
  if (!(error instanceof ReveilleError) || !expected.has(error.code)) throw error;
}

/** An answer that is none of the choices is refused, and changes nothing. */
async function answerNonsense(world: World, person: Orchestrator): Promise<void> {
  const request = anyOpen(world, (open) => !takesFreeText(open));
  if (!request) return;
  const answer = world.chance.pick([
    'banana',
    'retry with nobody',
    'raise tokens=banana',
    '17',
    '0',
    'ok, but not now',
  ]);
  let taken = true;
  try {
    await person.answer({ request: request.id, answer: answer ?? 'banana' });
  } catch (error) {
    checkRefusal(error, new Set([...REFUSALS, 'unknown_agent']));
    taken = false;
  }
  world.check(
    !taken,
    'one answer',
    () => `"${answer}" was taken for an answer to ${request.id} (${request.kind})`,
  );
}

/** INB1: the inbox shows all that waits for the person, as it is. */
export async function lookInto(world: World, person: Orchestrator): Promise<readonly Request[]> {
  const { rows } = world.auditor.ledger;
  const waits = ({ state, with: holder }: Request): boolean => state === 'open' && holder === null;
  const before = [...rows.request.values()].filter(waits);
  const shown = await person.inbox();
  const ids = new Set(shown.map(({ id }) => id));
  for (const { id } of before) {
    const now = rows.request.get(id);
    world.check(
      ids.has(id) || !now || !waits(now),
      'requests',
      () => `${id} (${now?.kind}) waits for the person and is not in the inbox`,
    );
  }
  return shown;
}
