import { within } from './ledger.ts';

/** Per session: whoever wants to hear, once, that a call is taking mail of it, before that is on disk. */
export class Takings {
  readonly #listeners = new Map<string, Set<() => void>>();

  on(session: string, tell: () => void): void {
    within(this.#listeners, session).add(tell);
  }

  begin(session: string): void {
    const listeners = this.#listeners.get(session);
    this.#listeners.delete(session);
    for (const tell of listeners ?? []) tell();
  }
}
