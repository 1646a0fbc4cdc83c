import { isReveilleError, type Delivery, type Orchestrator, type SessionId } from '@reveille/protocol';
import type { Engine, Store } from '@reveille/core';
import { receiverWithPoints } from './instrument.ts';
import { letterOf } from './letters.ts';
import { chanceFrom, childInput, patiently, type World } from './world.ts';

const LOOK_EVERY_MS = 20;
const CHAT = 'the chat';

/**
 * What the victim lives for: rounds, each a plan with dependencies whose tasks fan out, and a chat that delegates too.
 * A life goes on where the last one was killed: with the plan that is open, or a new one if there is none.
 */
export class Workload {
  readonly #engine: Engine;
  readonly #world: World;
  readonly #seed: number;
  readonly #person: Orchestrator;
  #chat: { readonly session: SessionId; readonly calls: Orchestrator } | null = null;
  /** What its receivers are at: the engine is stopped when they are done. */
  readonly #receiving = new Set<Promise<void>>();
  readonly #attached = new Map<SessionId, () => Promise<void>>();
  #over = false;

  constructor(engine: Engine, world: World, seed: number) {
    this.#engine = engine;
    this.#world = world;
    this.#seed = seed;
    this.#person = engine.as({ kind: 'person', name: 'tester' });
  }

  /** Begins so many rounds, one after the other, and returns when all has ended, or it is stopped. */
  async run({ rounds }: { rounds: number }): Promise<void> {
    const chat = (this.#chat = await this.#openChat());
    for (let left = rounds; !this.#over;) {
      const idle = await this.#patiently(() => this.#look());
      if (idle && left === 0) break;
      if (idle) await this.#begin();
      if (idle) left--;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    while (!this.#over && !(await this.#patiently(() => this.#isAllRead(chat.calls))))
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    this.#over = true;
    for (const detach of this.#attached.values()) await detach();
    await Promise.all(this.#receiving);
  }

  stop(): void {
    this.#over = true;
  }

  #patiently<T>(call: () => Promise<T>): Promise<T> {
    return patiently(() => this.#over, call);
  }

  /** Keeps the round going; true if there is nothing open. */
  async #look(): Promise<boolean> {
    const plans = await this.#person.listPlans();
    for (const plan of plans) await this.#attach(plan.owner);
    const draft = plans.find((plan) => plan.state === 'draft');
    if (draft) await this.#person.startPlan(draft.id);
    const open = await this.#engine.context.store.find('task', { list: 'open', equal: [1] });
    return !draft && open.length === 0 && !plans.some((plan) => plan.state === 'active');
  }

  async #begin(): Promise<void> {
    const round = (await this.#person.listPlans()).length + 1;
    const input = roundPlan(this.#seed, round);
    const { plan } = await this.#patiently(() => this.#person.savePlan(input, { start: true }));
    this.#world.effects.note(plan.owner, 'ack', 'plan', plan.id);
    if (this.#chat) await this.#delegate(this.#chat, round);
  }

  /** The chat's part of a round: two children that it is woken for, and one that it waits for in the call. */
  async #delegate(chat: { session: SessionId; calls: Orchestrator }, round: number): Promise<void> {
    const chance = chanceFrom(this.#seed * 31 + round);
    const noted = (key: string, task: string) =>
      this.#world.effects.note(chat.session, 'ack', 'spawn', key, task);
    for (const child of [`${backend(chance)}:leaf`, `${remembering(chance)}:asker`]) {
      const input = childInput(child, `r${round}-${child}`);
      const result = await this.#patiently(() => chat.calls.spawnSubtask(input, { blocking: false }));
      noted(input.key, result.task);
      if (result.state === 'ended' && result.delivery) this.#note(chat.session, 'spawn', [result.delivery]);
    }
    const input = childInput(`${backend(chance)}:leaf`, `r${round}-last`);
    const wait = () => chat.calls.spawnSubtask(input, { patienceMs: 5_000 });
    const waiting = this.#patiently(wait).then((result) => {
      noted(input.key, result.task);
      if (result.state === 'ended' && result.delivery) this.#note(chat.session, 'spawn', [result.delivery]);
    });
    waiting.catch((error: unknown) => {
      if (!this.#over) throw error;
    });
  }

  /**
   * A call of the chat shows that it has what the one before it was answered with, so the last is answered with nothing. What a
   * receiver got while the disk was full is recorded later.
   */
  async #isAllRead(chat: Orchestrator): Promise<boolean> {
    if ((await chat.checkUpdates()).length > 0) return false;
    for (const session of this.#attached.keys()) {
      const asked = { list: 'byState', equal: [session, 'delivered'] };
      if ((await this.#engine.context.store.find('message', asked)).length > 0) return false;
    }
    return true;
  }

  async #openChat(): Promise<{ session: SessionId; calls: Orchestrator }> {
    const { store } = this.#engine.context;
    const session = (await findChat(store)) ?? (await this.#person.openSession('chat', CHAT)).id;
    const calls = this.#engine.as({ kind: 'session', session });
    await this.#attach(session, async (deliveries) => {
      for (const { message } of deliveries) {
        const { kind, request } = message;
        if (kind === 'question' && request) await this.#patiently(() => answer(calls, request));
      }
    });
    return { session, calls };
  }

  async #attach(
    session: SessionId,
    then: (deliveries: readonly Delivery[]) => Promise<void> = async () => {},
  ): Promise<void> {
    if (this.#attached.has(session)) return;
    const receive = receiverWithPoints((deliveries) => {
      this.#note(session, 'receiver', deliveries);
      const received = then(deliveries).finally(() => this.#receiving.delete(received));
      this.#receiving.add(received);
      return received;
    }, this.#world.point);
    this.#attached.set(session, await this.#person.attach(session, receive));
  }

  #note(session: SessionId, via: string, deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#world.effects.got(session, via, letterOf(delivery));
  }
}

async function findChat(store: Store): Promise<SessionId | undefined> {
  const chats = await store.find('session', { list: 'byKind', equal: ['chat'] });
  return chats.find(({ doc }) => doc.name === CHAT)?.doc.id;
}

async function answer(calls: Orchestrator, request: `req_${string}`): Promise<void> {
  try {
    await calls.answer({ request, answer: 'this one' });
  } catch (error) {
    if (!isReveilleError(error, 'already_answered')) throw error;
  }
}

const pick = <T>(from: readonly T[], chance: () => number): T =>
  from[Math.floor(chance() * from.length)] as T;
const backend = (chance: () => number): string => pick(['inner', 'blind', 'shell', 'stubborn'], chance);
/** Whoever has an asker below it must remember the question. */
const remembering = (chance: () => number): string => pick(['inner', 'shell', 'stubborn'], chance);

function roundPlan(seed: number, round: number) {
  const chance = chanceFrom(seed * 1_000 + round);
  const any = (): string => backend(chance);
  const ends = [`${any()}:leaf`, `${any()}:flaky`, `${any()}:forgetful`, `${any()}:leaf`];
  const nested = [
    `inner:block/${remembering(chance)}:asker`,
    `${remembering(chance)}:fan/${any()}:leaf,${any()}:flaky`,
  ];
  const asked = [`${remembering(chance)}:asker`, `${any()}:flaky`];
  const task = (id: string, agent: string, dependencies: string[], children: string[] = []) => ({
    id,
    agent,
    dependencies,
    prompt: children.length > 0 ? `have it done by: ${children.join(' ')}` : `do ${id}`,
  });
  return {
    name: `round ${round}`,
    tasks: [
      task('first', `${any()}:leaf`, []),
      task('fan', pick(['inner:fan', 'inner:busy', 'shell:fan', 'stubborn:fan'], chance), ['first'], ends),
      task('block', 'inner:block', ['first'], asked),
      task('nest', pick(['inner:fan', 'inner:busy', 'shell:fan'], chance), [], nested),
      // A crash of the agent alone is followed by a pause of a second, so not in every round.
      task('odd', chance() < 0.1 ? `${any()}:crasher` : `blind:busy`, [], [`${any()}:leaf`, `${any()}:leaf`]),
      task('last', `${any()}:leaf`, ['fan', 'block', 'nest', 'odd']),
    ],
  };
}
