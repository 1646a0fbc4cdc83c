import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createClient, type Client, type Delivery, type MessageId, type SessionId } from '@reveille/protocol';
import { DO_IT, House, until } from './house.ts';
import { OverHttp } from './inside.ts';
import { readAll, request } from './wire.ts';

/** A receiver that keeps a batch until it is let go. */
function slowReceiver() {
  const got: Delivery[] = [];
  const waiting: (() => void)[] = [];
  return {
    got,
    waiting,
    receive: (deliveries: readonly Delivery[]): Promise<void> => {
      got.push(...deliveries);
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

const stateOf = async (client: Client, id: MessageId) => {
  const { state, maybeSeen } = await client.getMessage(id);
  return { state, maybeSeen };
};

describe('an attachment', () => {
  test('[DMN1.33] mail is read when its receiver has returned, not when it was sent', async () => {
    await using door = await OverHttp.open();
    const { self, id } = await door.session('chat');
    const { got, waiting, receive } = slowReceiver();
    await self.attach(id, receive);
    const message = await door.person.sendMessage({ to: id, message: 'hello' });
    await until(() => got.length === 1);
    expect(await stateOf(door.person, message)).toEqual({ state: 'delivered', maybeSeen: 0 });
    waiting[0]!();
    await until(async () => (await stateOf(door.person, message)).state === 'read');
  });

  test('[DMN1.33] a connection that breaks during a batch gives it back, marked; the client comes back by itself', async () => {
    await using door = await OverHttp.open();
    const { self, id, credential } = await door.session('chat');
    const socket = connect(door.port, '127.0.0.1');
    socket.write(
      request(door.port, credential, { path: '/v1/attach', body: JSON.stringify({ session: id }) }),
    );
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until(() => text.includes('event: attached'));
    const message = await door.person.sendMessage({ to: id, message: 'hello' });
    await until(() => text.includes(message));
    expect(await stateOf(door.person, message)).toEqual({ state: 'delivered', maybeSeen: 0 });
    socket.destroy();
    await until(async () => (await stateOf(door.person, message)).state === 'queued');
    expect(await stateOf(door.person, message)).toEqual({ state: 'queued', maybeSeen: 1 });
    const got: Delivery[] = [];
    await self.attach(id, async (deliveries) => void got.push(...deliveries));
    await until(() => got.length === 1);
    expect(got[0]!.message).toMatchObject({ id: message, maybeSeen: 1 });
  });

  test('[DMN1.33] after the daemon was killed the receiver is woken again, and nothing is lost', async () => {
    await using house = new House();
    const client = await house.connect();
    const { session, credential } = await client.grantSession({ name: 'chat' });
    const chat = await house.connect({ credential });
    const got = new Map<MessageId, number>();
    const detach = await chat.attach(session.id, async (deliveries) => {
      for (const { message } of deliveries) got.set(message.id, (got.get(message.id) ?? 0) + 1);
    });
    const sent: MessageId[] = [];
    for (let life = 0; life < 2; life++) {
      sent.push(await client.sendMessage({ to: session.id, message: `life ${life}`, key: `k${life}` }));
      await until(() => got.has(sent.at(-1)!));
      await house.kill();
      // Whoever waits for mail starts the next one.
      await until(async () => (await client.health()).state === 'running');
    }
    sent.push(await client.sendMessage({ to: session.id, message: 'last' }));
    await until(() => got.has(sent.at(-1)!));
    expect([...got.keys()].toSorted()).toEqual(sent.toSorted());
    await detach();
    const after = await client.sendMessage({ to: session.id, message: 'nobody is there' });
    expect(await stateOf(client, after)).toEqual({ state: 'queued', maybeSeen: 0 });
  });

  test('[DMN1.33] the newest attachment has the mail; the one before is told, and holds nothing back', async () => {
    await using door = await OverHttp.open();
    const { id, credential } = await door.session('chat');
    const lost: unknown[] = [];
    const first = createClient({ url: door.url, token: credential, lost: (error) => lost.push(error) });
    const { got, waiting, receive } = slowReceiver();
    await first.attach(id, receive);
    const message = await door.person.sendMessage({ to: id, message: 'one' });
    await until(() => got.length === 1);
    // It hangs with the first one, which may be a frozen process.
    const second: Delivery[] = [];
    await door.person.as(credential).attach(id, async (deliveries) => void second.push(...deliveries));
    await until(() => second.length === 1);
    expect(second[0]!.message).toMatchObject({ id: message, maybeSeen: 1 });
    const other = await door.person.sendMessage({ to: id, message: 'two' });
    await until(() => second.length === 2);
    expect(second[1]!.message.id).toBe(other);
    expect(got).toHaveLength(1);
    // When it wakes up it is told, and does not take the place back.
    waiting[0]!();
    await until(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ code: 'wrong_state' });
    await door.person.sendMessage({ to: id, message: 'three' });
    await until(() => second.length === 3);
    expect(got).toHaveLength(1);
  });

  test('[DMN1.33] only its own session, and whoever attached, may speak for it', async () => {
    await using door = await OverHttp.open();
    const mine = await door.session('mine');
    const other = await door.session('other');
    await expect(other.self.attach(mine.id, async () => undefined)).rejects.toMatchObject({
      code: 'not_allowed',
    });
    await expect(other.self.attach('session_none', async () => undefined)).rejects.toMatchObject({
      code: 'not_allowed',
    });
    await expect(door.person.attach('session_none', async () => undefined)).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(
      door.person.attach('task_1' as unknown as SessionId, async () => undefined),
    ).rejects.toMatchObject({ code: 'invalid_input' });
    const socket = connect(door.port, '127.0.0.1');
    socket.write(
      request(door.port, mine.credential, { path: '/v1/attach', body: JSON.stringify({ session: mine.id }) }),
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    let text = head.toString();
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until(() => /"attachment":"[0-9a-f]+"/.test(text));
    const attachment = /"attachment":"([0-9a-f]+)"/.exec(text)![1];
    const message = await door.person.sendMessage({ to: mine.id, message: 'secret' });
    await until(() => text.includes(message));
    const receipt = async (credential: string, body: object) => {
      const path = `/v1/attach/${attachment}/receipt`;
      const answer = connect(door.port, '127.0.0.1');
      answer.write(request(door.port, credential, { path, body: JSON.stringify(body) }));
      return (await readAll(answer)).split(' ')[1];
    };
    expect(await receipt(other.credential, { batch: 1, received: true })).toBe('404');
    expect(await receipt(mine.credential, { batch: 2, received: true })).toBe('404');
    expect(await receipt(mine.credential, { batch: 0, received: true })).toBe('400');
    expect(await stateOf(door.person, message)).toMatchObject({ state: 'delivered' });
    expect(await receipt(mine.credential, { batch: 1, received: true })).toBe('200');
    expect(await receipt(mine.credential, { batch: 1, received: true })).toBe('404');
    await until(async () => (await stateOf(door.person, message)).state === 'read');
    socket.destroy();
  });

  test('[DMN1.33] a receiver may detach itself while it has a batch, and that batch counts', async () => {
    await using door = await OverHttp.open();
    const { self, id } = await door.session('chat');
    const got: Delivery[] = [];
    const detach: () => Promise<void> = await self.attach(id, async (deliveries) => {
      got.push(...deliveries);
      await detach();
    });
    const message = await door.person.sendMessage({ to: id, message: 'one' });
    await until(async () => (await stateOf(door.person, message)).state === 'read');
    const other = await door.person.sendMessage({ to: id, message: 'two' });
    expect(await stateOf(door.person, other)).toEqual({ state: 'queued', maybeSeen: 0 });
    expect(got).toHaveLength(1);
  });
});

describe('a call whose connection breaks', () => {
  test('[DMN1.32] what it was to be answered with is queued again, also if it was already taken', async () => {
    await using door = await OverHttp.open();
    const { self, credential } = await door.session('chat');
    const [child] = await self.spawnSubtasks([{ prompt: 'x' }]);
    const puppet = await door.stage.at(child!.task);
    const body = JSON.stringify([{ taskIds: [child!.task] }]);
    const sockets = Array.from({ length: 5 }, () => {
      const socket = connect(door.port, '127.0.0.1');
      socket.write(request(door.port, credential, { path: '/v1/op/awaitSubtasks', body }));
      return socket;
    });
    await until(async () => (await door.person.getTask(child!.task)).task.state === 'running');
    for (const socket of sockets) socket.destroy();
    await door.worker(puppet).reportCompletion({ status: 'success', output: 'there' });
    expect(await self.awaitSubtasks({ taskIds: [child!.task] })).toMatchObject({
      deliveries: [{ end: { output: 'there' } }],
    });
  });

  test('[DMN1.32] a spawn that its caller gave up goes on, and its end comes by mail, once', async () => {
    await using door = await OverHttp.open();
    const { self, id } = await door.session('chat');
    const given = new AbortController();
    const spawning = self.spawnSubtask({ prompt: 'x', key: 'k' }, { signal: given.signal });
    await until(() => door.stage.puppets.some(({ turns }) => turns.length > 0));
    given.abort();
    await expect(spawning).rejects.toMatchObject({ code: 'aborted' });
    // Until the daemon knows that the caller is gone, it answers into a connection that nobody reads.
    await until(() => /spawnSubtask.*"finished":false/.test(door.log));
    const [puppet] = door.stage.puppets;
    await door.worker(puppet!).reportCompletion({ status: 'success', output: 'late' });
    const again = await self.spawnSubtask({ prompt: 'x', key: 'k' });
    expect(again).toMatchObject({
      state: 'ended',
      task: puppet!.spec.task.id,
      delivery: { end: { output: 'late' } },
    });
    expect(await self.checkUpdates()).toEqual([]);
    expect((await self.mailbox(id)).filter(({ kind }) => kind === 'end')).toHaveLength(1);
  });
});

describe('a client whose daemon is gone', () => {
  test('[DMN1.34] goes on with a new one where that can do no harm', async () => {
    await using house = new House();
    const client = await house.connect();
    const { session, credential } = await client.grantSession({ name: 'chat' });
    const chat = client.as(credential);
    await house.kill();
    const [first, second] = await Promise.all([client.listPlans(), chat.mailbox(session.id)]);
    expect([first, second]).toEqual([[], []]);
    await house.kill();
    // Nobody listens there any more, so it was not carried out, and may be made again.
    const { plan } = await client.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: DO_IT }] });
    expect((await client.listPlans()).map(({ id }) => id)).toEqual([plan.id]);
    expect(house.said('the daemon runs')).toHaveLength(3);
  });

  test('[DMN1.34] waits again for what it waited for', async () => {
    await using house = new House();
    const client = await house.connect();
    const { credential } = await client.grantSession({ name: 'chat' });
    const chat = client.as(credential);
    const steps = JSON.stringify({ steps: [{ do: 'work', ms: 600_000 }] });
    const [child] = await chat.spawnSubtasks([{ prompt: `Go.\n\n\`\`\`reveille-script\n${steps}\n\`\`\`` }]);
    const waiting = chat.awaitSubtasks({ taskIds: [child!.task] });
    await until(async () => (await client.getTask(child!.task)).worker === 'running');
    await house.kill();
    await client.health();
    await client.completeTask(child!.task, 'In the end.');
    expect(await waiting).toMatchObject({ done: true, deliveries: [{ end: { output: 'In the end.' } }] });
  });

  test('[DMN1.34] says that nobody knows, where the call may have been carried out', async () => {
    await using house = new House();
    await house.connect();
    const client = createClient({ url: house.url, token: house.lock.token });
    await client.health();
    process.kill(house.lock.pid, 'SIGSTOP');
    const saving = client.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: DO_IT }] }).then(
      () => null,
      (error: unknown) => error,
    );
    // It is on its way to a process that will never read it; the client cannot tell.
    await until(() => sentTo(house.lock.port) > 0);
    await house.kill();
    expect(await saving).toMatchObject({ code: 'unreachable', data: { carriedOut: 'unknown' } });
  });
});

/** Bytes that lie unread at a port of this machine. */
function sentTo(port: number): number {
  if (process.platform !== 'linux') return 1;
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state !== '0A')
    .reduce((sum, fields) => sum + Number.parseInt(fields[4]?.split(':')[1] ?? '0', 16), 0);
}
