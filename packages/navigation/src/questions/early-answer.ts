import type { ServerPlace, ServerSession, Spot } from '../lsp/session.ts';
import type { Leads } from '../text/leads.ts';
import type { Spot as TreeSpot } from '../text/spots.ts';
import { inside, isNothing, type Inquiry, type Surveyed } from './inquiry.ts';

/** What was asked before the question was: where its first place leads. */
export interface Early {
  readonly survey: Surveyed;
  /** Null: the server was not asked. */
  readonly answer: Promise<{ readonly spot: TreeSpot; readonly places: readonly ServerPlace[] } | null>;
}

/**
 * A server that is there is asked at once where a name leads from its first place in a file, and what is shown there: where
 * that will be is guessed from the texts in memory. It counts if nothing has changed on disk.
 */
export class EarlyAnswer {
  readonly #inquiry: Inquiry;
  readonly #from: string;
  readonly #asked: Promise<(Early & { readonly told: number }) | null>;

  constructor(inquiry: Inquiry, from: string, name: string) {
    this.#inquiry = inquiry;
    this.#from = from;
    this.#asked = this.#ask(name).catch(() => null);
  }

  /** What was found and asked, if it was this session that was asked about this file, and it has been told of nothing since. */
  async of(session: ServerSession, from: string): Promise<Early | null> {
    const asked = await this.#asked;
    if (!asked) return null;
    if (from === this.#from && asked.survey.session === session && asked.told === session.told) return asked;
    this.#inquiry.forgetEarly();
    return null;
  }

  async #ask(name: string): Promise<(Early & { readonly told: number }) | null> {
    const survey = await this.#inquiry.survey(this.#from, name);
    if (!survey) return null;
    const { session, leads, look } = survey;
    const { told } = session;
    const isAsked = session.settled && isNothing(look.changes);
    const answer = isAsked && leads ? this.#answer(session, leads) : Promise.resolve(null);
    answer.catch(() => undefined);
    return { survey, answer, told };
  }

  async #answer(
    session: ServerSession,
    { spot, target }: Leads,
  ): Promise<{ readonly spot: TreeSpot; readonly places: readonly ServerPlace[] }> {
    const asking = session.definition({ ...spot, path: this.#from });
    if (target) this.#show(session, [target]);
    const places = await asking;
    this.#show(session, inside(places));
    return { spot, places };
  }

  /** What will most likely be shown. */
  #show(session: ServerSession, places: readonly Spot[]): void {
    for (const place of places) {
      this.#inquiry.hover(session, place).catch(() => undefined);
      this.#inquiry.placeText(place).catch(() => undefined);
    }
  }
}
