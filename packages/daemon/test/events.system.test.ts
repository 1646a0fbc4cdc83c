import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createClient, type Client, type ReveilleEvent, type TaskId } from '@reveille/protocol';
import { House, until } from './house.ts';
import { OverHttp } from './inside.ts';
import { request, wire } from './wire.ts';

const upTo = (last: number, after = 0): number[] =>
  Array.from({ length: last - after }, (_, i) => after + 1 + i);
const numbers = (events: readonly ReveilleEvent[]): number[] => events.map(({ number }) => number);

/** Follows in the background; what came is in `events`. */
function following(client: Client, after = 0) {
  const over = new AbortController();
  const events: ReveilleEvent[] = [];
  const batches: number[] = [];
  let failure: unknown;
  const done = (async () => {
    for await (const batch of client.follow({ after, signal: over.signal })) {
      events.push(...batch);
      batches.push(batch.length);
    }
  })().catch((error: unknown) => (failure = error));
  return {
    events,
    batches,
    get failure() {
      return failure;
    },
    done,
    async stop() {
      over.abort();
      await done;
    },
  };
}

/** Makes events: each session opened or ended is at least one. */
async function happen(client: Client, times: number): Promise<void> {
  await Promise.all(Array.from({ length: times }, (_, i) => client.openSession('chat', `s${i}`)));
}

/** Opens a stream with this credential and keeps all that comes; `ended` tells whether the daemon has cut it off. */
function listening(port: number, credential: string) {
  const heard = { text: '', ended: false };
  const socket = connect(port, '127.0.0.1');
  socket.write(request(port, credential, { method: 'GET', path: '/v1/events', body: '' }));
  socket.on('data', (chunk: Buffer) => (heard.text += chunk.toString()));
  socket.on('error', () => undefined).on('close', () => (heard.ended = true));
  return { heard, close: () => socket.destroy() };
}

describe('the stream of events of a caller that is no person', () => {
  test('[ID6.21] a run hears of its own tree only, and nothing more when it has ended', async () => {
    await using door = await OverHttp.open();
    const { self } = await door.session('chat');
    const [mine, theirs] = await self.spawnSubtasks([{ prompt: 'mine' }, { prompt: 'theirs' }]);
    const [worker, other] = [await door.stage.at(mine!.task), await door.stage.at(theirs!.task)];
    const stream = listening(door.port, door.credentialOf(worker));
    await until(() => stream.heard.text.includes(mine!.task));
    await door.worker(other).notifyParent({ type: 'info', message: 'x' });
    await door.worker(worker).reportCompletion({ status: 'success', output: 'done' });
    await until(() => stream.heard.ended);
    expect(stream.heard.text).not.toContain(theirs!.task);
    expect(stream.heard.text).not.toContain('run.ended');
  });

  test('[BND7.35] a run has two of them at most, and another when one of these has ended', async () => {
    await using door = await OverHttp.open();
    const { self } = await door.session('chat');
    const [{ task }, other] = (await self.spawnSubtasks([{ prompt: 'mine' }, { prompt: 'theirs' }])) as [
      { task: TaskId },
      { task: TaskId },
    ];
    const credential = door.credentialOf(await door.stage.at(task));
    const open = (by: string) => listening(door.port, by);
    const isOpen = ({ heard }: ReturnType<typeof open>): boolean => heard.text.includes('200 OK');
    const [first, second] = [open(credential), open(credential)];
    await until(() => isOpen(first) && isOpen(second));
    const third = open(credential);
    await until(() => third.heard.ended);
    expect(third.heard.text).toContain(' 429 ');
    const beside = open(door.credentialOf(await door.stage.at(other.task)));
    await until(() => isOpen(beside));
    first.close();
    const again: ReturnType<typeof open>[] = [];
    await until(() => {
      if (again.every(({ heard }) => heard.ended)) again.push(open(credential));
      return again.some(isOpen);
    });
    for (const stream of [second, beside, ...again]) stream.close();
  });

  test('[ID6.21] a stream ends with the session, and with the token, that opened it', async () => {
    await using door = await OverHttp.open();
    const { id, credential } = await door.session('chat');
    const [chat, person] = [listening(door.port, credential), listening(door.port, door.token)];
    await until(() => chat.heard.text.includes('200 OK') && person.heard.text.includes('200 OK'));
    await door.person.endSession(id);
    await until(() => chat.heard.ended);
    expect(person.heard.ended).toBe(false);
    await door.person.rotateToken();
    await until(() => person.heard.ended);
  });
});

describe('the stream of events', () => {
  test('[DMN2.1] from any number on, by header or address, nothing is missing and nothing comes twice', async () => {
    await using door = await OverHttp.open();
    await happen(door.person, 50);
    const early = following(door.person);
    const late = following(door.person, 30);
    await happen(door.person, 50);
    const last = (await door.person.health()).lastEvent;
    expect(last).toBeGreaterThanOrEqual(100);
    await until(() => early.events.length === last && late.events.length === last - 30);
    expect(numbers(early.events)).toEqual(upTo(last));
    expect(numbers(late.events)).toEqual(upTo(last, 30));
    expect(early.events).toEqual(await door.person.events(0, 10_000));
    await Promise.all([early.stop(), late.stop()]);
    // As a browser comes back: the address says where it first began, the header where it was.
    const response = await fetch(`${door.url}/v1/events?after=0`, {
      headers: { authorization: `Bearer ${door.token}`, 'last-event-id': String(last - 2) },
    });
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    const text = Buffer.from(value!).toString();
    // In one batch or two, as they were written.
    expect(text).toMatch(new RegExp(`^id: (${last - 1}|${last})\ndata: \\[\\{"number":${last - 1},`));
    await reader.cancel();
  });

  test('[DMN2.1] while thousands are committed, ten readers that come and go get each once', async () => {
    await using door = await OverHttp.open({ flags: { 'daemon.batchMs': '1' } });
    const readers = Array.from({ length: 10 }, () => ({ seen: [] as number[] }));
    let over = false;
    const reading = readers.map(async ({ seen }, i) => {
      while (!over) {
        const gone = new AbortController();
        let batches = 0;
        for await (const batch of door.person.follow({ after: seen.at(-1) ?? 0, signal: gone.signal })) {
          seen.push(...numbers(batch));
          if (over || ++batches % (i + 2) === 0) gone.abort();
        }
      }
    });
    for (let i = 0; i < 20; i++) await happen(door.person, 50);
    const { lastEvent } = await door.person.health();
    expect(lastEvent).toBeGreaterThanOrEqual(1_000);
    await until(() => readers.every(({ seen }) => seen.at(-1) === lastEvent));
    over = true;
    // Those that wait for the next event get one, and see that it is over.
    await happen(door.person, 1);
    await Promise.all(reading);
    for (const { seen } of readers) expect(seen.slice(0, lastEvent)).toEqual(upTo(lastEvent));
  });

  test('[DMN2.1] a reader goes on where it was when the daemon is killed, again and again', async () => {
    await using house = new House();
    const client = await house.connect();
    const reader = following(client);
    for (let life = 0; life < 3; life++) {
      await happen(client, 20);
      await until(() => reader.events.length >= 20 * (life + 1));
      // In the middle of more, of which some happen and some do not.
      const more = happen(client, 20).catch(() => undefined);
      await house.kill();
      await more;
      // Whatever can be asked twice brings a new daemon.
      await client.health();
    }
    const { lastEvent } = await client.health();
    await until(() => reader.events.at(-1)?.number === lastEvent);
    expect(numbers(reader.events)).toEqual(upTo(lastEvent));
    expect(reader.events).toEqual(await client.events(0, 10_000));
    await reader.stop();
    expect(house.said('the daemon runs')).toHaveLength(4);
  });

  test('[DMN2.2] many events at once come in few batches; without any, the stream says that it lives', async () => {
    await using door = await OverHttp.open({ flags: { 'daemon.heartbeatMs': '20' } });
    const reader = following(door.person);
    const tasks = Array.from({ length: 500 }, (_, i) => ({ id: `t${i}`, prompt: 'p' }));
    await door.person.savePlan({ name: 'p', tasks });
    const { lastEvent } = await door.person.health();
    await until(() => reader.events.length === lastEvent);
    // All of them were one commit.
    expect(lastEvent).toBeGreaterThan(500);
    expect(reader.batches).toEqual([lastEvent]);
    await reader.stop();
    const socket = connect(door.port, '127.0.0.1');
    socket.write(request(door.port, door.token, { method: 'GET', path: `/v1/events?after=${lastEvent}` }));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until(() => (text.match(/: \n\n/g)?.length ?? 0) > 3);
    expect(text).not.toContain('data:');
    socket.destroy();
  });

  test('[DMN2.3] a reader that takes nothing is cut off, the others notice nothing, and it goes on where it was', async () => {
    const flags = {
      'daemon.stallMs': '300',
      'daemon.heartbeatMs': '50',
      'daemon.bufferBytes': '10000',
      'daemon.batchMs': '0',
    };
    await using door = await OverHttp.open({ flags });
    const stalled = connect(door.port, '127.0.0.1');
    stalled.on('error', () => undefined);
    await once(stalled, 'connect');
    stalled.write(request(door.port, door.token, { method: 'GET', path: '/v1/events' }));
    stalled.pause();
    const live = following(door.person);
    // More than the buffers of two sockets can hold.
    const name = 'x'.repeat(190);
    const tasks = Array.from({ length: 3_000 }, (_, i) => ({
      id: `t${i}`,
      name: `${name}${i}`,
      prompt: 'p',
    }));
    while (!door.log.includes('took nothing and was cut off'))
      await door.person.savePlan({ name: 'p', tasks });
    const { lastEvent } = await door.person.health();
    await until(() => live.events.at(-1)?.number === lastEvent);
    expect(numbers(live.events)).toEqual(upTo(lastEvent));
    // What it had got by then, and from there on.
    let text = '';
    stalled.on('data', (chunk: Buffer) => (text += chunk.toString()));
    stalled.resume();
    await once(stalled, 'close');
    const got = Number([...text.matchAll(/\nid: (\d+)\ndata: .*\n\n/g)].at(-1)?.[1] ?? 0);
    expect(got).toBeLessThan(lastEvent);
    const again = following(door.person, got);
    await until(() => again.events.at(-1)?.number === lastEvent);
    expect(numbers(again.events)).toEqual(upTo(lastEvent, got));
    await Promise.all([live.stop(), again.stop()]);
  });

  test('[DMN2.5] a number that is none, or has not been given yet, is refused in words', async () => {
    await using door = await OverHttp.open();
    for (const after of ['-1', 'x', '1.5', '1e3', '9'.repeat(30), ''])
      expect(
        (
          await wire(
            door.port,
            request(door.port, door.token, { method: 'GET', path: `/v1/events?after=${after}` }),
          )
        ).status,
        after,
      ).toBe(400);
    const reader = following(door.person, 7_000);
    await reader.done;
    expect(reader.failure).toMatchObject({ code: 'wrong_state', data: { last: 0 } });
  });

  test('[DMN2.5] a stop is said at the end of every stream', async () => {
    await using door = await OverHttp.open();
    const { self, id } = await door.session('chat');
    const reader = following(door.person);
    const lost: unknown[] = [];
    const { credential } = await door.person.grantSession({ session: id });
    const attached = createClient({ url: door.url, token: credential, lost: (error) => lost.push(error) });
    await attached.attach(id, async () => undefined);
    await happen(door.person, 1);
    await until(() => reader.events.length > 0);
    expect(await self.mailbox(id)).toEqual([]);
    await door.stop();
    await reader.done;
    expect(reader.failure).toMatchObject({ code: 'stopping' });
    await until(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ code: 'stopping' });
  });
});
