import { createHmac, randomBytes } from 'node:crypto';
import { ReveilleError } from '@reveille/protocol';
import { z } from 'zod';
import { jsonOf, readPrivately, writePrivately } from '../place/private-file.ts';

const TICKET_MS = 60_000;
const MOST_TICKETS = 100;
const MOST_PAGES = 50;
/** A page that nobody has opened for so long has to be let in again. */
const IDLE_MS = 14 * 86_400_000;
/** How exactly it is known when a page was last there: the file is not written for every call. */
const SEEN_MS = 3_600_000;

const Known = z.record(z.string().regex(/^[0-9a-f]{32}$/), z.number());

/**
 * The browsers that a person has let in. Whoever has the person's token asks for a ticket; the page that shows it first is
 * in, and gets a credential that names it. The file holds no secret: credentials are sealed like those of sessions.
 *
 * A ticket that is shown a second time was seen by somebody else: then the page that it let in is put out again.
 */
export class Pages {
  readonly #path: string;
  readonly #seal: (page: string) => string;
  readonly #tickets = new Map<string, { readonly until: number; page: string | null }>();
  readonly #pages: Map<string, number>;

  constructor(options: { readonly path: string; readonly seal: (page: string) => string }) {
    this.#path = options.path;
    this.#seal = options.seal;
    this.#pages = readPages(options.path);
  }

  ticket(now: number): string {
    for (const [known, { until }] of this.#tickets)
      if (until < now || this.#tickets.size >= MOST_TICKETS) this.#tickets.delete(known);
    const ticket = `rvt_${randomBytes(32).toString('base64url')}`;
    this.#tickets.set(ticket, { until: now + TICKET_MS, page: null });
    return ticket;
  }

  /** The credential for whoever shows the ticket first. */
  login(ticket: string, now: number): string {
    const found = this.#tickets.get(ticket);
    if (!found || found.until < now) throw refused('The link has expired. Run `reveille dashboard` again.');
    if (found.page !== null) {
      this.#pages.delete(found.page);
      this.#write();
      throw refused(
        'The link was used twice, so neither counts. Run `reveille dashboard` again, and see who else uses this machine.',
      );
    }
    found.page = randomBytes(16).toString('hex');
    this.#pages.set(found.page, now);
    for (const oldest of this.#pages.keys()) if (this.#pages.size > MOST_PAGES) this.#pages.delete(oldest);
    this.#write();
    return this.#seal(found.page);
  }

  /** Whether a page whose credential is genuine is still let in. */
  isIn(page: string, now: number): boolean {
    const seen = this.#pages.get(page);
    if (seen === undefined || now - seen > IDLE_MS) return false;
    if (now - seen < SEEN_MS) return true;
    this.#pages.set(page, now);
    this.#write();
    return true;
  }

  /** Shows a page that this is the daemon that let it in. */
  proof({ page, nonce }: { readonly page: string; readonly nonce: string }): string {
    if (!this.#pages.has(page)) throw refused('This page is not let in any more.');
    return createHmac('sha256', this.#seal(page)).update(nonce).digest('hex');
  }

  /** Everybody has to be let in again. */
  putAllOut(): void {
    this.#tickets.clear();
    this.#pages.clear();
    this.#write();
  }

  #write(): void {
    writePrivately(this.#path, `${JSON.stringify(Object.fromEntries(this.#pages))}\n`);
  }
}

const refused = (why: string): ReveilleError => new ReveilleError('unauthorized', why);

/** A file that is damaged, or that others could have written, lets nobody in. */
function readPages(path: string): Map<string, number> {
  const file = readPrivately(path);
  const known = Known.safeParse(file && !file.exposed ? jsonOf(file.text) : {});
  return new Map(known.success ? Object.entries(known.data) : []);
}
