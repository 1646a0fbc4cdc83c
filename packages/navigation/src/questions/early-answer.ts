import type { ServerPlace, ServerSession, Spot } from '../lsp/session.ts';
import type { Leads } from '../text/leads.ts';
import type { Spot as TreeSpot } from '../text/spots.ts';
import { inside, type Inquiry } from './inquiry.ts';

interface Early {
  readonly session: ServerSession;
  /** What the session had been told by then. */
  readonly told: number;
  readonly spot: TreeSpot;
  readonly places: readonly ServerPlace[];
}

/**
 * A server that is there is asked at once where the name leads from its first place in a file, and what is shown there: where
 * that will be is guessed from the texts in memory.
 */
export class EarlyAnswer {
  readonly #inquiry: Inquiry;
  readonly #from: string;
  readonly #asked: Promise<Early | null>;
  #counts = true;

  constructor(inquiry: Inquiry, from: string, name: string) {
    this.#inquiry = inquiry;
    this.#from = from;
    this.#asked = this.#ask(name).catch(() => null);
  }

  /** What was answered, if the session has been told of nothing since. */
  async of(
    session: ServerSession,
    from: string,
  ): Promise<{ readonly spot: TreeSpot; readonly places: readonly ServerPlace[] } | null> {
    const asked = from === this.#from ? await this.#asked : null;
    return asked?.session === session && asked.told === session.told ? asked : null;
  }

  forget(): void {
    this.#counts = false;
    this.#inquiry.forgetEarly();
  }

  async #ask(name: string): Promise<Early | null> {
    const known = await this.#inquiry.leads(this.#from, name);
    return known?.session.settled ? await this.#answered(known.session, known.leads) : null;
  }

  async #answered(session: ServerSession, { spot, target }: Leads): Promise<Early> {
    const { told } = session;
    const asking = session.definition({ ...spot, path: this.#from });
    if (target) this.#show(session, [target]);
    const places = await asking;
    this.#show(session, inside(places));
    return { session, told, spot, places };
  }

  /** What will most likely be shown. */
  #show(session: ServerSession, places: readonly Spot[]): void {
    for (const place of this.#counts ? places : []) {
      this.#inquiry.hover(session, place).catch(() => undefined);
      this.#inquiry.placeText(place).catch(() => undefined);
    }
  }
}
