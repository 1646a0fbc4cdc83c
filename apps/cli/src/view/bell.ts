import type { Request } from '@reveille/protocol';

/** Whether something waits for the person that did not before: a sound for whoever looks elsewhere. */
export class Bell {
  readonly #heard = new Set<string>();
  #begun = false;

  rings(requests: readonly Pick<Request, 'id'>[]): boolean {
    const fresh = requests.filter(({ id }) => !this.#heard.has(id));
    for (const { id } of fresh) this.#heard.add(id);
    const rings = this.#begun && fresh.length > 0;
    this.#begun = true;
    return rings;
  }
}
