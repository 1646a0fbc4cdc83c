import type { WriteStream } from 'node:tty';
import { setImmediate as nextPhase, setTimeout as sleep } from 'node:timers/promises';
import type { Client, ReveilleEvent } from '@reveille/protocol';
import { paintFor, type Paint } from '../ansi.ts';
import { Screen } from '../demo/screen.ts';
import type { Io } from '../io.ts';
import { Bell } from './bell.ts';
import { drawFrame } from './frame.ts';
import { drawEvent, drawWakeUp, line, timed } from './lines.ts';
import { pictureOf } from './picture.ts';
import { Watch, type Target } from './watch.ts';

export interface FollowOptions {
  readonly io: Io;
  readonly client: Client;
  readonly target: Target;
  readonly json: boolean;
  /** From this event on; from now on unless told. */
  readonly after?: number;
  /** Whether a terminal rings when something comes to wait for the person. */
  readonly bell?: boolean;
  /** Ends it early. */
  readonly until?: ((watch: Watch) => boolean) | undefined;
}

export interface Followed {
  readonly watch: Watch;
  /** The exit code of whoever did not want to see the end; null: it was seen. */
  readonly detached: number | null;
}

const FRAME_MS = 100;

/** Shows what happens until it has ended, or until the person has seen enough. Showing changes nothing. */
export async function follow(options: FollowOptions): Promise<Followed> {
  const { io, client, target } = options;
  using interruption = io.interruption();
  const after = options.after ?? (await client.health()).lastEvent;
  const watch = await Watch.open(client, target);
  using view = viewFor(options, watch);
  const over = new AbortController();
  const news = new News();
  const signal = AbortSignal.any([over.signal, interruption.signal]);
  const pump = listen({ client, after, signal, watch, view, news });
  try {
    await Promise.race([show({ watch, view, news, signal, until: options.until }), pump]);
    if (watch.ended && !interruption.signal.aborted) await watch.reload();
    view.show(true);
    return { watch, detached: interruption.signal.aborted ? interruption.exitCode : null };
  } finally {
    over.abort();
    await pump.catch(() => undefined);
  }
}

interface Pump {
  readonly client: Client;
  readonly after: number;
  readonly signal: AbortSignal;
  readonly watch: Watch;
  readonly view: View;
  readonly news: News;
}

/** Ends only when it is told to, or when the daemon was stopped, which it throws. */
async function listen({ client, after, signal, watch, view, news }: Pump): Promise<void> {
  const connected = (isConnected: boolean): void => {
    view.connected(isConnected);
    news.came();
  };
  for await (const events of client.follow({ after, signal, connected })) {
    const about = watch.apply(events);
    if (about.length === 0) continue;
    view.happened(about);
    news.came();
  }
}

async function show({
  watch,
  view,
  news,
  signal,
  until,
}: Pick<Pump, 'watch' | 'view' | 'news' | 'signal'> & Pick<FollowOptions, 'until'>): Promise<void> {
  for (;;) {
    if (watch.stale) await watch.refresh();
    // Signals are heard between timers and this: one that was stopped must know that it was before it draws.
    await nextPhase();
    if (signal.aborted) return;
    view.show(false);
    if (watch.ended || until?.(watch)) return;
    await news.next(view.everyMs, signal);
  }
}

/** "Something has changed", heard also by who was not listening in that moment. */
class News {
  #pending = false;
  #resolve: () => void = () => undefined;

  came(): void {
    this.#pending = true;
    this.#resolve();
  }

  async next(ms: number | null, signal: AbortSignal): Promise<void> {
    if (!this.#pending && !signal.aborted) {
      const done = new AbortController();
      const stop = AbortSignal.any([signal, done.signal]);
      const news = new Promise<void>((resolve) => {
        this.#resolve = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true, signal: done.signal });
      });
      const pause = ms === null ? news : sleep(ms, undefined, { signal: stop }).catch(() => undefined);
      await Promise.race([news, pause]);
      done.abort();
    }
    this.#pending = false;
  }
}

/** One way of showing what happens. */
interface View extends Disposable {
  /** How often it wants to be drawn although nothing has happened; null: never. */
  readonly everyMs: number | null;
  happened(events: readonly ReveilleEvent[]): void;
  /** The daemon is there, or is waited for. */
  connected(isConnected: boolean): void;
  show(last: boolean): void;
}

function viewFor(options: FollowOptions, watch: Watch): View {
  const { io } = options;
  if (options.json) return jsonView(io);
  const live = io.out === process.stdout && process.stdout.isTTY && io.env['TERM'] !== 'dumb';
  const paint = paintFor(process.stdout, io.env);
  return live ? liveView(process.stdout, watch, { paint, bell: options.bell ?? false }) : lineView(io, watch);
}

const HINT = 'Ctrl-C leaves; the work goes on.';
const LOST = 'The daemon is not there; waiting for it.';

function liveView(
  out: WriteStream,
  watch: Watch,
  { paint, bell: sounds }: { readonly paint: Paint; readonly bell: boolean },
): View {
  const screen = new Screen(out);
  const bell = new Bell();
  let lostAt: number | null = null;
  return {
    everyMs: FRAME_MS,
    happened: () => undefined,
    connected: (isConnected) => void (lostAt = isConnected ? null : (lostAt ?? Date.now())),
    show(last) {
      // Of what nobody is told no time passes.
      const now = lostAt ?? Date.now();
      const hint = lostAt === null ? HINT : LOST;
      if (bell.rings(watch.requests) && sounds) out.write('\u0007');
      screen.draw(drawFrame(pictureOf(watch, now), { ...screen.size, now, last, hint }, paint));
    },
    [Symbol.dispose]: () => screen.close(),
  };
}

function lineView(io: Io, watch: Watch): View {
  const begun = watch.plan?.createdAt ?? [...watch.tasks.values()][0]?.task.createdAt ?? 0;
  const write = (at: number, text: string): void => void io.out.write(`${timed(at - begun, text)}\n`);
  const asked = new Set<string>();
  let wakeUps = 0;
  let isLost = false;
  return {
    everyMs: null,
    happened(events) {
      for (const event of events) {
        const text = drawEvent(event, (id) => watch.name(id));
        if (text !== null) write(event.at, text);
      }
    },
    connected(isConnected) {
      if (isLost !== isConnected) return;
      isLost = !isConnected;
      write(Date.now(), line('reveille', isLost ? LOST : 'The daemon is there again.'));
    },
    show() {
      for (const wakeUp of watch.wakeUps.slice(wakeUps)) write(wakeUp.at, drawWakeUp(wakeUp));
      wakeUps = watch.wakeUps.length;
      for (const { id, task, text, movedAt } of watch.requests) {
        if (asked.has(id)) continue;
        asked.add(id);
        write(movedAt, line('asks you', `${watch.name(task)}: ${text} (reveille inbox ${id})`));
      }
    },
    [Symbol.dispose]: () => undefined,
  };
}

function jsonView({ out }: Io): View {
  return {
    everyMs: null,
    happened: (events) => events.forEach((event) => out.write(`${JSON.stringify(event)}\n`)),
    connected: () => undefined,
    show: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
}
