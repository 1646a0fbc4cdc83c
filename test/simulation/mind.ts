import type { Action, Delivery, RequestId, TaskId } from '@reveille/protocol';
import type { History } from './options.ts';
import type { World } from './world.ts';

/** A message as somebody got it: its id, and whether it came with the words that it may have been seen. */
interface Got {
  readonly id: string;
  readonly marked: boolean;
}

/**
 * What somebody remembers: an agent's own session, or a person at a chat. What an agent was given is in its
 * history for good as soon as it does anything after it; until then its death may take it back.
 */
export class Memory {
  readonly #world: World;
  readonly #owner: string;
  readonly #session: string;
  readonly #ids = new Map<string, { unmarked: number }>();
  #fresh: string[] = [];

  constructor(world: World, owner: string, session: string) {
    this.#world = world;
    this.#owner = owner;
    this.#session = session;
  }

  /** MBX3: of several copies all but one say that they may have been seen. Two under way may come in either order. */
  take({ id, marked }: Got): void {
    const known = this.#ids.get(id);
    const unmarked = (known?.unmarked ?? 0) + (marked ? 0 : 1);
    if (unmarked > 1) {
      this.#world.fail(
        'ends',
        `${this.#owner} was given ${id} again, without a word that it may have been seen`,
      );
    }
    this.#ids.set(id, { unmarked });
    if (!known) this.#fresh.push(id);
  }

  /** It does something: its history has been written. */
  keep(): void {
    if (this.#fresh.length > 0) this.#fresh = [];
  }

  /** It died. Whether its last input had been written is a matter of chance. */
  lose(): void {
    for (const id of this.#fresh) {
      this.#ids.delete(id);
      this.#world.experienced.get(this.#session)?.delete(id);
    }
    this.#fresh = [];
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}

/** What the world knows of the worker of one task, across its processes: its memory and its plans. */
export class Mind {
  readonly world: World;
  readonly session: string;
  readonly task: TaskId;
  readonly history: History;
  readonly isRoot: boolean;
  memory: Memory;
  readonly children = new Set<TaskId>();
  /** Requests of others that it knows of and has not answered. */
  readonly toAnswer = new Set<RequestId>();
  /** What one that decides was told of, whatever kind it is. */
  readonly toDecide = new Set<RequestId>();
  readonly keys: string[] = [];
  /** What it has asked leave for and got no answer to. */
  wish: string | null = null;
  /** What it was not let do, or not yet. */
  action: Action | null = null;
  spawned = 0;
  /** How many more stretches of work it wants before it reports. */
  appetite: number;

  constructor(world: World, session: string, task: TaskId, isRoot: boolean) {
    this.world = world;
    this.session = session;
    this.task = task;
    this.isRoot = isRoot;
    this.history = world.chance.pick(world.options.histories) ?? 'tells';
    this.memory = new Memory(world, `the agent of ${task}`, session);
    this.appetite = world.chance.skewed(0, 10);
  }

  /** Which of its processes its memory is of: one that another has replaced takes nothing with it. */
  process: string | null = null;

  /** A new process begins: with its history as far as it was written, or with an empty head. */
  wakeUp(process: string, resume: string | null): void {
    this.process = process;
    this.memory.lose();
    if (resume === null) this.memory = new Memory(this.world, `the agent of ${this.task}`, this.session);
  }
}

/** What was given, from the text itself: the fence of a message and the line above it. */
export function readText(text: string): Got[] {
  const got: Got[] = [];
  for (const match of text.matchAll(/^(.*)\n<reveille-data (msg_[0-9a-z]+)>$/gm)) {
    got.push({
      id: match[2] ?? '',
      marked: match[1]?.endsWith('(given again: you may have seen it before)') ?? false,
    });
  }
  return got;
}

export const readDelivery = ({ message, text }: Delivery): Got => ({
  id: message.id,
  marked: readText(text).some((got) => got.id === message.id && got.marked),
});
