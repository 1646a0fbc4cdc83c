import type { Caller, Message, Orchestrator, Receiver, SessionId } from '@reveille/protocol';
import { checkTaken, sawSpawned } from './acknowledged.ts';
import { attempt } from './attempt.ts';
import type { Life } from './life.ts';
import { Memory } from './mind.ts';
import { Travel } from './travel.ts';
import { wordsFor } from './wishes.ts';
import type { World } from './world.ts';

/** Somebody at a session that is no worker: a chat, or the terminal a person owns plans with. */
interface Seat {
  readonly session: SessionId;
  readonly memory: Memory;
  attachedTo: Life | null;
  detach: (() => Promise<void>) | null;
  attaching: Life | null;
  /** The engine that its calls go to. */
  calling: Life | null;
}

/** The engine as a caller sees it, with every call seen by the world. */
export function asCaller(world: World, life: Life, caller: Caller): Orchestrator {
  const engine = life.engine.as(caller);
  const who =
    caller.kind === 'person' ? 'a person' : `session ${caller.kind === 'session' ? caller.session : ''}`;
  return new Proxy(engine, {
    get: (target, name: keyof Orchestrator) => {
      const method = target[name] as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => {
        noteStart(world, name, String(args[0]));
        return world.invoke(life, `${who}: ${name} ${typeof args[0] === 'string' ? args[0] : ''}`, () =>
          method.apply(target, args),
        );
      };
    },
  });
}

/** Whoever comes by here is a person or a person's client, and may start what nobody has approved. */
function noteStart(world: World, name: keyof Orchestrator, id: string): void {
  if (!['startPlan', 'retryTask', 'addPlanTask'].includes(name)) return;
  world.startedByPerson.add(world.auditor.ledger.rows.task.get(id)?.plan ?? id);
}

/** Who sits where, connected to which engine. */
export class Seats {
  readonly #world: World;
  readonly #seats = new Map<string, Seat>();

  constructor(world: World) {
    this.#world = world;
    world.onCrash = (life) => {
      for (const seat of this.#seats.values()) {
        if (seat.attachedTo === life || seat.attaching === life) this.#unseat(seat);
      }
    };
  }

  any(): Seat | undefined {
    return this.#world.chance.pick([...this.#seats.values()]);
  }

  async openSeat(life: Life, kind: 'chat' | 'orchestrator'): Promise<Seat> {
    const person = asCaller(this.#world, life, { kind: 'person', name: 'p' });
    const { id } = await person.openSession(kind, kind, this.#world.files);
    this.#world.check(
      this.#world.auditor.ledger.rows.session.has(id),
      'durable',
      () => `session ${id} was acknowledged and is not on disk`,
    );
    return this.seat(id);
  }

  seat(session: SessionId): Seat {
    let seat = this.#seats.get(session);
    if (!seat) {
      seat = {
        session,
        memory: new Memory(this.#world, `whoever is at ${session}`, session),
        attachedTo: null,
        detach: null,
        attaching: null,
        calling: null,
      };
      this.#seats.set(session, seat);
    }
    return seat;
  }

  async openChat(life: Life): Promise<void> {
    if (this.#seats.size >= 3) return;
    await this.attach(life, await this.openSeat(life, 'chat'));
  }

  /** Now and then the client sends the same call again before the first is answered. */
  async spawn(life: Life): Promise<void> {
    const world = this.#world;
    const seat = this.any();
    if (!seat || !world.mayGrow()) return;
    const inputs = [
      {
        prompt: `from chat ${world.nextPid()}`,
        name: `chat${world.nextPid()}`,
        key: `c${world.chance.int(1, 3)}`,
      },
    ];
    const spawn = async (): Promise<void> => {
      const seated = asCaller(this.#world, life, { kind: 'session', session: seat.session });
      const spawned = await seated.spawnSubtasks(inputs);
      sawSpawned(world, seat.session, inputs)(spawned.map(({ task }) => task));
    };
    await Promise.all(world.has('same_key') ? [spawn(), spawn()] : [spawn()]);
  }

  /** A chat that nothing is attached to asks for its mail, by several calls side by side. */
  async calls(life: Life): Promise<void> {
    const { chance } = this.#world;
    const seat = this.any();
    if (!seat || seat.attachedTo || seat.attaching) return;
    if (!seat.calling || seat.calling.dead) seat.calling = life;
    await Promise.all(Array.from({ length: chance.int(1, 3) }, () => this.#check(seat)));
  }

  /** Calls once more wherever somebody called: that shows that what came before has arrived. */
  async callAgain(): Promise<void> {
    for (const seat of this.#seats.values()) await this.#check(seat);
  }

  async #check(seat: Seat): Promise<void> {
    const { chance, timeline } = this.#world;
    await timeline.sleep(chance.int(0, 40));
    const life = seat.calling;
    if (!life || life.dead || this.#seats.get(seat.session) !== seat) return;
    const travel = new Travel(life, { kind: 'session', session: seat.session });
    seat.memory.keep();
    const what = `${seat.session} checks updates`;
    const abort = new AbortController();
    const children = this.#world.auditor.ledger.tasksOf(seat.session).map(({ id }) => id);
    const taskIds = chance.hit(0.5) ? children.slice(-3) : [];
    const answered = this.#world.invoke(life, what, async () => {
      if (taskIds.length === 0) return travel.orchestrator.checkUpdates();
      const wanted = { taskIds, mode: 'any', timeoutMs: 3_000 } as const;
      return (await travel.orchestrator.awaitSubtasks(wanted, { signal: abort.signal })).deliveries;
    });
    travel.giveUpSoon(abort, seat.session);
    const deliveries = await travel.bring(answered, () => !life.dead && !abort.signal.aborted);
    for (const delivery of deliveries) this.#world.took(seat.memory, delivery);
    for (const { message } of deliveries) this.#answerSoon(seat, message);
  }

  async attach(life: Life, seat: Seat | undefined): Promise<void> {
    if (!seat || seat.attachedTo || seat.attaching) return;
    seat.attaching = life;
    const person = asCaller(this.#world, life, { kind: 'person', name: 'p' });
    try {
      const detach = await person.attach(seat.session, this.#receiver(seat, life));
      if (life.dead) return;
      seat.attachedTo = life;
      seat.detach = detach;
    } finally {
      if (seat.attaching === life) seat.attaching = null;
    }
  }

  /** What it is given it has seen, unless its connection breaks first; and it may break just after. */
  #receiver(seat: Seat, life: Life): Receiver {
    const world = this.#world;
    return async (deliveries) => {
      checkTaken(world, deliveries);
      world.say(
        life,
        `${seat.session} is given ${deliveries.map((delivery) => delivery.message.id).join(' ')}`,
      );
      await world.timeline.sleep(
        world.chance.hit(0.4) ? world.chance.int(100, 4_000) : world.chance.int(0, 20),
      );
      if (life.dead) await new Promise(() => {});
      const breaks = world.strikes('broken_connection', 0.1)
        ? world.chance.pick(['before', 'after'] as const)
        : null;
      if (breaks !== 'before') for (const delivery of deliveries) world.took(seat.memory, delivery);
      seat.memory.keep();
      for (const { message } of breaks === 'before' ? [] : deliveries) this.#answerSoon(seat, message);
      if (!breaks) return;
      this.#unseat(seat);
      throw new Error('the connection of the chat broke');
    };
  }

  /** Whoever is at the seat answers what it was asked, sooner or later; perhaps somebody else has by then. */
  #answerSoon({ session }: Seat, { request, kind }: Message): void {
    const world = this.#world;
    const asked = kind === 'question' || kind === 'approval_request';
    if (!request || !asked || !world.has('seats_answer') || world.chance.hit(0.3)) return;
    const row = world.auditor.ledger.rows.request.get(request);
    const answer = wordsFor(world, row, `answer ${world.nextPid()} of ${session}`);
    const act = async (life: Life): Promise<void> => {
      await asCaller(world, life, { kind: 'session', session }).answer({ request, answer });
      world.acknowledged(request, answer);
    };
    world.timeline.after(world.chance.skewed(10, 15_000), () => {
      const life = world.anyLife();
      if (life) void attempt(world, life, 'answer', () => act(life));
    });
  }

  #unseat(seat: Seat): void {
    seat.attachedTo = null;
    seat.detach = null;
    seat.attaching = null;
  }

  async leave(seat: Seat | undefined): Promise<void> {
    const detach = seat?.detach;
    if (!seat || !detach || !seat.attachedTo) return;
    const life = seat.attachedTo;
    this.#unseat(seat);
    await this.#world.invoke(life, `${seat.session} leaves`, detach);
  }

  async end(person: Orchestrator): Promise<void> {
    const seat = this.#world.chance.pick([...this.#seats.values()]);
    const owns = [...this.#world.auditor.ledger.rows.plan.values()].some(
      (plan) => plan.owner === seat?.session,
    );
    if (!seat || (owns && !this.#world.has('seats_answer'))) return;
    await person.endSession(seat.session);
    this.#seats.delete(seat.session);
    const row = this.#world.auditor.ledger.rows.session.get(seat.session);
    this.#world.check(
      row?.state === 'ended',
      'durable',
      () => `the end of ${seat.session} was acknowledged; on disk it is ${row?.state}`,
    );
  }
}
