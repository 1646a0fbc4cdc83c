import type { Exchange } from '@reveille/core';
import { loadConfig, openLog, standardParts, type Parts, type World } from '@reveille/daemon';
import type { Orchestrator } from '@reveille/protocol';
import { OverHttp } from '../inside.ts';

/** What of an orchestrator is held up, once, after it has done its work. */
export interface Held {
  readonly operation: keyof Orchestrator;
  /** It has done its work: what it gives was taken. */
  readonly reached: Promise<void>;
  release(): void;
}

/** A daemon with the product's own MCP server and agents that the test plays; one can see what MCP calls are at. */
export class McpDoor extends OverHttp {
  /** Operations that MCP calls have asked for and that have not answered. */
  busy = 0;
  /** The newest call; a stream that listens may be opened after it. */
  lastPost: Request | null = null;
  #held: { operation: keyof Orchestrator; arrive: () => void; gate: Promise<void> } | null = null;

  static async make(): Promise<McpDoor> {
    const self = new McpDoor();
    await self.resume();
    return self;
  }

  /** Begins, also again after a stop. */
  async resume(): Promise<void> {
    const { config } = loadConfig({ flags: {} });
    const log = openLog({ path: this.place.log, ...config.logs });
    const standard = await standardParts({ config, place: this.place, log, url: 'http://127.0.0.1:1' });
    const { executors: _, mounts, close, ...rest } = standard;
    await this.begin({
      parts: {
        ...rest,
        mounts: (world) => this.#watched(mounts, world),
        close: async () => {
          await close?.();
          log[Symbol.dispose]();
        },
      },
    });
  }

  #watched(mounts: Parts['mounts'], world: World): ReturnType<NonNullable<Parts['mounts']>> {
    const made = mounts?.({ ...world, exchange: (caller) => this.#counting(world.exchange(caller)) }) ?? [];
    return made.map((mount) => ({
      ...mount,
      handle: (request, caller, answered) => {
        if (request.method === 'POST') this.lastPost = request;
        return mount.handle(request, caller, answered);
      },
    }));
  }

  #counting({ orchestrator, ...rest }: Exchange): Exchange {
    const counted = new Proxy(orchestrator, {
      get: (target, name: keyof Orchestrator) => {
        const operation = target[name] as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]): Promise<unknown> => {
          this.busy++;
          try {
            const value = await operation.apply(target, args);
            await this.#holdUp(name);
            return value;
          } finally {
            this.busy--;
          }
        };
      },
    });
    return { orchestrator: counted, ...rest };
  }

  async #holdUp(name: keyof Orchestrator): Promise<void> {
    const held = this.#held;
    if (held?.operation !== name) return;
    this.#held = null;
    held.arrive();
    await held.gate;
  }

  /** The next answer of this operation to an MCP call waits until it is released. */
  hold(operation: keyof Orchestrator): Held {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    this.#held = { operation, arrive: reached.resolve, gate: gate.promise };
    return { operation, reached: reached.promise, release: gate.resolve };
  }
}
