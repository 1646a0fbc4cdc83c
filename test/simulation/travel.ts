import type { Exchange } from '@reveille/core';
import { ReveilleError, type Caller, type Orchestrator } from '@reveille/protocol';
import { ConnectionLost } from './connection-lost.ts';
import type { Life } from './life.ts';
import type { World } from './world.ts';

/**
 * One call over a connection: its answer takes time, and arrives or is lost. The daemon that sent it knows which, a moment
 * later, unless it dies before.
 */
export class Travel {
  readonly #world: World;
  readonly #life: Life;
  readonly #exchange: Exchange;

  constructor(life: Life, caller: Caller) {
    this.#world = life.world;
    this.#life = life;
    this.#exchange = life.engine.exchange(caller);
  }

  get orchestrator(): Orchestrator {
    return this.#exchange.orchestrator;
  }

  /** Now and then whoever waits does not want to any more; now and then just as what it waits for is taken for it. */
  giveUpSoon(abort: AbortController, session: string): void {
    const { chance, timeline } = this.#world;
    if (this.#world.quiet) return;
    if (this.#world.has('given_up_in_time') && chance.hit(0.5))
      this.#world.takings.on(session, () => {
        this.#world.auditor.sights.saw('call given up as it took mail');
        timeline.after(chance.int(0, 2), () => abort.abort());
      });
    if (!this.#world.has('calls_given_up') || !chance.hit(0.3)) return;
    timeline.after(chance.skewed(0, 4_000), () => abort.abort());
  }

  /** Brings the answer to its caller. `hears`: somebody is there to get it. */
  async bring<T>(answered: Promise<T>, hears: () => boolean): Promise<T> {
    const { chance, timeline } = this.#world;
    const answer = await answered;
    await timeline.sleep(chance.hit(0.3) ? chance.skewed(1, 3_000) : chance.int(0, 3));
    const breaks = this.#world.strikes('broken_exchange', mailIn(answer).length > 0 ? 0.6 : 0.02);
    const gotOut = hears() && !breaks;
    // Whoever sent it may be gone as well: then what is on disk decides what comes again.
    if (breaks && chance.hit(0.5)) this.#world.crash(this.#life, 'with an answer on its way');
    timeline.after(chance.int(0, 30), () => this.#life.deliver(() => this.#told(gotOut, answer)));
    if (gotOut) return answer;
    throw breaks ? new ConnectionLost() : new ReveilleError('aborted', 'The call was given up.');
  }

  #told(gotOut: boolean, answer: unknown): void {
    if (gotOut) return this.#exchange.answered();
    const ids = mailIn(answer);
    if (ids.length > 0) {
      this.#world.say(this.#life, `the answer with ${ids.join(' ')} is lost`);
      this.#world.auditor.sights.saw('answer with mail lost');
    }
    for (const id of ids) this.#world.auditor.lostAnswers.add(id);
    this.#exchange.lost().catch((error: unknown) => this.#world.fail('engine', `lost: ${String(error)}`));
  }
}

const mailIn = (answer: unknown): string[] => [
  ...new Set(JSON.stringify(answer ?? null).match(/\bmsg_[0-9a-z]+/g)),
];
