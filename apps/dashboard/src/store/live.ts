import { isReveilleError, type ReveilleEvent, type TaskId } from '@reveille/protocol';
import { api, link } from '../link/api.ts';
import { fold, foldHistory } from './fold.ts';
import type { Store } from './store.ts';

/** Under a flood of events, so many pictures a second: more nobody sees. */
const PICTURE_MS = 100;
const READ_MS = 300;
const LOOK_MS = 2_000;
const MOST_READ = 200;
const HISTORY = 2_000;

/** Keeps the store as the daemon has it, for as long as the page is open. */
export function keepLive(store: Store): void {
  const publish = publisher(store);
  const reader = new Reader(store, publish);
  void follow(store, () => {
    publish();
    reader.read();
  });
  setInterval(() => {
    if (document.hidden) return;
    for (const id of store.visible) if (store.rows.get(id)?.run?.state === 'open') store.wanted.add(id);
    reader.read();
  }, LOOK_MS);
}

/** All that there is, then every event after it. Whatever breaks is begun again where it was. */
async function follow(store: Store, changed: () => void): Promise<never> {
  for (let loaded = false; ;) {
    try {
      if (!loaded) {
        await store.load(await api().views.board());
        loaded = true;
        foldHistory(store, await history(store.event));
        changed();
      }
      for await (const events of api().follow({ after: store.event })) {
        fold(store, events);
        changed();
      }
    } catch (error) {
      // The daemon has another database than before: what we know is of no use.
      if (isReveilleError(error, 'wrong_state')) loaded = false;
      if (isReveilleError(error, 'unauthorized'))
        link.value = { state: 'refused', why: 'This browser is not let in any more.' };
      if (isReveilleError(error, 'stopping')) link.value = { state: 'offline', since: Date.now() };
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const history = (last: number): Promise<readonly ReveilleEvent[]> =>
  api().events(Math.max(0, last - HISTORY), HISTORY);

/** Tells of changes once a frame, and not more often than anybody can see. */
function publisher(store: Store): () => void {
  let due = false;
  let last = -Infinity;
  const show = (): void => {
    due = false;
    last = performance.now();
    store.version.value++;
  };
  return () => {
    if (due) return;
    due = true;
    const wait = last + PICTURE_MS - performance.now();
    if (document.hidden) setTimeout(show, 1_000);
    else if (wait > 0) setTimeout(() => requestAnimationFrame(show), wait);
    else requestAnimationFrame(show);
  };
}

/** Reads again what events did not tell: together, a little later, a bounded number at a time. */
class Reader {
  readonly #store: Store;
  readonly #changed: () => void;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #busy = false;

  constructor(store: Store, changed: () => void) {
    this.#store = store;
    this.#changed = changed;
  }

  read(): void {
    const { wanted, stale } = this.#store;
    if (this.#busy || this.#timer || (wanted.size === 0 && !stale.inbox && !stale.plans)) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#read();
    }, READ_MS);
  }

  async #read(): Promise<void> {
    this.#busy = true;
    const store = this.#store;
    const { stale } = store;
    const { inbox, plans } = stale;
    const tasks = nextOf(store);
    stale.inbox = stale.plans = false;
    store.touched.clear();
    try {
      const [rows, requests, all] = await Promise.all([
        tasks.length > 0 ? api().views.rows({ tasks }) : [],
        inbox ? api().inbox() : null,
        plans ? api().listPlans() : null,
      ]);
      store.putRows(rows);
      // An event that came meanwhile may be newer than the row.
      for (const id of tasks) if (store.touched.has(id)) store.wanted.add(id);
      if (requests) store.putInbox(requests);
      if (all) store.putPlans(all);
      this.#changed();
    } catch {
      // The connection is shown elsewhere; what was wanted is wanted still.
      for (const task of tasks) store.wanted.add(task);
      stale.inbox ||= inbox;
      stale.plans ||= plans;
    } finally {
      this.#busy = false;
    }
    this.read();
  }
}

/** What is on the screen comes first. */
function nextOf({ wanted, visible }: Store): TaskId[] {
  const seen = [...wanted].filter((id) => visible.has(id));
  const next = [...seen, ...[...wanted].filter((id) => !visible.has(id))].slice(0, MOST_READ);
  for (const id of next) wanted.delete(id);
  return next;
}
