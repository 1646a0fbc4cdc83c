import { readFileSync } from 'node:fs';
import {
  ReveilleError,
  isReveilleError,
  type Client,
  type ReveilleEvent,
  type TaskId,
} from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findEither, viewpointOf } from '../find.ts';
import { reach } from '../reach.ts';
import { UsageError } from '../usage.ts';
import { oneLine, pad } from '../view/columns.ts';
import { Watch } from '../view/watch.ts';

export const logs = command({
  name: 'logs',
  group: 'Work',
  summary: 'prints what happened, event by event',
  usage: '[plan|task]',
  about:
    'Without a name, the last events of everything. --daemon prints the log of the daemon itself instead.',
  options: {
    follow: { type: 'boolean', short: 'f', means: 'go on with what happens from now on, until Ctrl-C' },
    lines: {
      type: 'string',
      short: 'n',
      value: 'N',
      means: 'at most so many of the newest; 50 without a name, else all',
    },
    daemon: { type: 'boolean', means: 'the log of the daemon, as it wrote it' },
  },
  json: 'one event as it was recorded per line: { number, at, type, plan?, task?, run?, session?, … }.',
  async run(call) {
    const { follow, daemon } = call.options;
    const [name] = call.args;
    const most = linesOf(call.options.lines, name === undefined ? 50 : Infinity);
    if (daemon) return daemonLog(call, most);
    const client = await reach(call);
    const printer = new Printer(call, client);
    const { lastEvent } = await client.health();
    const about = name === undefined ? null : await aboutOf(call, client, name);
    const from = about ? await firstSince(client, about.since, lastEvent) : Math.max(0, lastEvent - most);
    const past: ReveilleEvent[] = [];
    for await (const page of history(client, from, lastEvent))
      past.push(...(about ? about.watch.apply(page) : page));
    await printer.print(past.slice(-Math.min(most, past.length || 1)));
    return follow ? goOn({ call, client, after: lastEvent, about: about?.watch ?? null, printer }) : 0;
  },
});

function linesOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const lines = Number(text);
  if (!Number.isInteger(lines) || lines < 1)
    throw new UsageError(`--lines takes a number from 1 on, not "${text.slice(0, 20)}".`, 'logs');
  return lines;
}

async function aboutOf(call: Call, client: Client, name: string): Promise<{ watch: Watch; since: number }> {
  const { plan, task } = await findEither(client, name, await viewpointOf(call));
  const watch = await Watch.open(client, plan ? { plan: plan.id } : { task: task.task.id });
  return { watch, since: (plan ?? task.task).createdAt };
}

const PAGE = 5_000;

async function* history(
  client: Client,
  from: number,
  last: number,
): AsyncGenerator<readonly ReveilleEvent[]> {
  for (let after = from; after < last;) {
    const page = await client.events(after, PAGE);
    const newest = page.at(-1);
    if (!newest) return;
    yield page.filter(({ number }) => number <= last);
    after = newest.number;
  }
}

/** Events are in the order of time, so the first one is found by halving. A clock that was set back costs some precision. */
const MARGIN_MS = 60_000;

async function firstSince(client: Client, at: number, last: number): Promise<number> {
  let [low, high] = [0, last];
  while (high - low > PAGE) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await client.events(middle, 1);
    if (event && event.at >= at - MARGIN_MS) high = middle;
    else low = middle;
  }
  return low;
}

interface GoOn {
  readonly call: Call;
  readonly client: Client;
  readonly after: number;
  readonly about: Watch | null;
  readonly printer: Printer;
}

async function goOn({ call, client, after, about, printer }: GoOn): Promise<number> {
  using interruption = call.io.interruption();
  for await (const events of client.follow({ after, signal: interruption.signal }))
    await printer.print(about ? about.apply(events) : events);
  return interruption.exitCode;
}

/** Names are looked up once. */
class Printer {
  readonly #call: Call;
  readonly #client: Client;
  readonly #names = new Map<string, string>();

  constructor(call: Call, client: Client) {
    this.#call = call;
    this.#client = client;
  }

  async print(events: readonly ReveilleEvent[]): Promise<void> {
    const { out } = this.#call.io;
    for (const event of events) {
      const text = this.#call.options.json ? JSON.stringify(event) : await this.#line(event);
      out.write(`${text}\n`);
    }
  }

  async #line(event: ReveilleEvent): Promise<string> {
    const { at, type, task, plan, session, data = {} } = event;
    const time = new Date(at).toISOString().slice(0, 23).replace('T', ' ');
    const who = task === undefined ? (plan ?? session ?? '') : await this.#nameOf(task, data);
    const { state: _state, name: _name, owner: _owner, ...rest } = data;
    const details = Object.entries(rest).map(([key, value]) =>
      key === 'why' || key === 'text' ? String(value) : `${key}=${JSON.stringify(value)}`,
    );
    return `${time}  ${pad(type, 18)}  ${oneLine([who, ...details].join('  '))}`.slice(0, 2_000).trimEnd();
  }

  async #nameOf(task: string, data: Readonly<Record<string, unknown>>): Promise<string> {
    if (typeof data['name'] === 'string') this.#names.set(task, data['name']);
    const known = this.#names.get(task);
    if (known !== undefined) return known;
    const name = await this.#client
      .getTask(task as TaskId)
      .then((view) => view.task.name)
      .catch((error: unknown) => {
        if (isReveilleError(error, 'not_found')) return task;
        throw error;
      });
    this.#names.set(task, name);
    return name;
  }
}

const LARGEST_TAIL = 4 * 2 ** 20;

async function daemonLog({ io }: Call, most: number): Promise<number> {
  const { placeOf } = await import('@reveille/daemon/connect');
  const { log } = placeOf(io.env);
  try {
    const bytes = readFileSync(log);
    const lines = bytes
      .subarray(Math.max(0, bytes.length - LARGEST_TAIL))
      .toString()
      .trimEnd()
      .split('\n');
    io.out.write(`${lines.slice(-Math.min(most, lines.length)).join('\n')}\n`);
    return 0;
  } catch (cause) {
    throw new ReveilleError(
      'not_found',
      `There is no log yet (${log}). Start the daemon: reveille daemon start.`,
      { cause },
    );
  }
}
