import type { ServerPlace, ServerSession, Spot } from '../lsp/session.ts';
import { meaningSpot } from '../text/leads.ts';
import type { Spot as TreeSpot } from '../text/spots.ts';
import type { Survey } from '../text/trees.ts';
import { inside, isNothing, type Inquiry } from './inquiry.ts';

/** What was asked before it was known whether it may be. */
export interface Early {
  readonly survey: Survey;
  /** Where the first place of the name leads; null: the server was not asked, or it does not count. */
  readonly answer: Answer | null;
  /** How often the server had been told of anything when it was asked. */
  readonly told: number;
}

interface Answer {
  readonly spot: TreeSpot;
  readonly places: Promise<readonly ServerPlace[]>;
}

export interface EarlyAsk {
  readonly symbol: string;
  /** What of it is looked for in the file. */
  readonly name: string;
  /** As it was given. */
  readonly from: string;
}

/**
 * The disk is looked at while a file is read; then a server that is there is asked at once where a name leads from its first place
 * in it, and what is shown where the symbol was found the last time. It counts if nothing has changed.
 */
export class EarlyAnswer {
  readonly #inquiry: Inquiry;
  readonly #session: ServerSession;
  readonly #asked: EarlyAsk;
  readonly #told: number;
  readonly #survey: Promise<Survey>;
  #answer: Answer | null = null;

  /** Null: there is no server that can be asked at once. */
  static begin(inquiry: Inquiry, asked: EarlyAsk): EarlyAnswer | null {
    const session = inquiry.warmSession(asked.from);
    return session && new EarlyAnswer(inquiry, session, asked);
  }

  private constructor(inquiry: Inquiry, session: ServerSession, asked: EarlyAsk) {
    this.#inquiry = inquiry;
    this.#session = session;
    this.#asked = asked;
    this.#told = session.told;
    const { symbol, name, from: path } = asked;
    this.#survey = inquiry.survey(session, { path, name, guess: session.lastDefined(symbol) });
    // What is shown where the text says that it leads is asked for before the server has said the same.
    this.#survey.then(
      ({ places }) => {
        for (const { at } of places) this.#show(at);
      },
      () => undefined,
    );
  }

  /** Asks the server, now that it is known how the text of the file begins: that says where. */
  ask(head: string): void {
    const { symbol, name, from: path } = this.#asked;
    const spot = meaningSpot(head, name);
    this.#answer = spot && { spot, places: this.#led({ ...spot, path }) };
    this.#answer?.places.catch(() => undefined);
    const guess = this.#session.lastDefined(symbol);
    if (guess) this.#show(guess);
  }

  /** What was found and asked, if it was this session that was asked about this file, and it has been told of nothing since. */
  async of(session: ServerSession, from: string): Promise<Early | null> {
    const isAsked = from === this.#asked.from && this.#session === session;
    const survey = isAsked ? await this.#survey.catch(() => null) : null;
    if (!survey || this.#told !== session.told) return null;
    return { survey, answer: isNothing(survey.look.changes) ? this.#answer : null, told: this.#told };
  }

  async #led(spot: Spot): Promise<readonly ServerPlace[]> {
    const places = await this.#session.definition(spot);
    const [first, ...others] = inside(places);
    if (first && others.length === 0) this.#show(first);
    // Of a name that stands for several things, as for an interface and its symbol, the text mostly shows all.
    else for (const place of inside(places)) this.#showUnlessWritten(place).catch(() => undefined);
    return places;
  }

  async #showUnlessWritten(place: Spot): Promise<void> {
    const { declared } = await this.#inquiry.placeText(place);
    if (!declared?.shown) await this.#inquiry.hover(this.#session, place);
  }

  /** What will most likely be shown. */
  #show(place: Spot): void {
    if (!this.#inquiry.likely(place)?.declared?.shown)
      this.#inquiry.hover(this.#session, place).catch(() => undefined);
    this.#inquiry.placeText(place).catch(() => undefined);
  }
}
