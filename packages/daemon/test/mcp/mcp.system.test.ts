import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DELEGATION_TOOLS, HTTP_ROUTES, type SessionId, type TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { until } from '../house.ts';
import { request, wire } from '../wire.ts';
import { McpClient, textOf, type Era, type Result } from './client.ts';
import { McpDoor } from './door.ts';

const ERAS: readonly Era[] = ['2025', '2026'];
const NOTHING_NEW = 'No new messages.';

const openTasks = async (door: McpDoor) => await door.person.listTasks({ open: true });
const taskOf = ({ structuredContent }: Result): TaskId => (structuredContent as { taskId: TaskId }).taskId;
const report = async (door: McpDoor, task: TaskId, output: string): Promise<unknown> =>
  door.worker(await door.stage.at(task)).reportCompletion({ status: 'success', output });
/** A child of a chat, started by its client. */
const spawn = async (client: McpClient, prompt: string): Promise<TaskId> =>
  taskOf(await client.call('a2a_spawn_subtask', { agentType: 'coder', prompt, blocking: false }));

describe.each([
  { waits: '2025', leaves: '2026' },
  { waits: '2026', leaves: '2025' },
] as const)('two clients at once, $waits and $leaves', ({ waits, leaves }) => {
  test('[MCP33] one waits past its own time-out, one is killed and comes back: each result arrives, once', async () => {
    await using door = await McpDoor.make();
    const [ann, bob] = [await door.session('ann'), await door.session('bob')];
    await using patient = await McpClient.connect(door, ann.credential, waits);
    const leaving = await McpClient.connect(door, bob.credential, leaves);
    const blocking = { agentType: 'coder', prompt: 'x' };
    const childrenOf = async (owner: SessionId): Promise<TaskId[]> =>
      (await openTasks(door)).flatMap(({ task }) => (task.owner === owner ? [task.id] : []));
    const lost = leaving.call('a2a_spawn_subtask', blocking).catch(String);
    await until(async () => (await childrenOf(bob.id)).length === 1 && door.busy === 1);
    // A machine that is busy enough has no child before the time is over; then the client tries again.
    do {
      const late = await patient.call('a2a_spawn_subtask', blocking, 1_000).catch(String);
      expect(late).toMatch(/timed? ?out/i);
      await until(() => door.busy === 1);
    } while ((await childrenOf(ann.id)).length === 0);
    await leaving.kill();
    expect(await lost).toContain('killed');
    // The daemon has noticed both.
    await until(() => door.busy === 0);
    const children = [...(await childrenOf(ann.id)), ...(await childrenOf(bob.id))];
    for (const child of children) await report(door, child, `done by ${child}`);
    await using back = await McpClient.connect(door, bob.credential, leaves);
    const seen: string[] = [];
    for (const client of [patient, back]) {
      expect(textOf(await client.call('a2a_list_agents'))).toMatch(
        /\[Reveille: \d+ messages? waits? for you/,
      );
      const got = textOf(await client.call('a2a_check_updates'));
      seen.push(...got.matchAll(/done by (task_\w+)/g).map(([, task = '']) => task));
      expect(textOf(await client.call('a2a_check_updates'))).toBe(NOTHING_NEW);
    }
    // Each of them, in the order of their owners, and none twice.
    expect(seen).toEqual(children);
  });
});

describe.each(ERAS)('a connection that breaks, %s', (era) => {
  test('[MCP34] while a call waits for mail: the mail waits for the next one', async () => {
    await using door = await McpDoor.make();
    const { credential } = await door.session('ann');
    const first = await McpClient.connect(door, credential, era);
    const child = await spawn(first, 'x');
    const waiting = first.call('a2a_await_subtasks', { taskIds: [child] }).catch(String);
    await until(() => door.busy === 1);
    await first.kill();
    await waiting;
    await until(() => door.busy === 0);
    await report(door, child, 'done at last');
    await using second = await McpClient.connect(door, credential, era);
    expect(textOf(await second.call('a2a_await_subtasks', { taskIds: [child] }))).toContain('done at last');
    expect(textOf(await second.call('a2a_check_updates'))).toBe(NOTHING_NEW);
  });

  test('[MCP34] after the call took mail and before its answer got out: the mail comes again, marked', async () => {
    await using door = await McpDoor.make();
    const { credential, id } = await door.session('ann');
    const first = await McpClient.connect(door, credential, era);
    const child = await spawn(first, 'x');
    await report(door, child, 'taken and lost');
    const held = door.hold('checkUpdates');
    const taking = first.call('a2a_check_updates').catch(String);
    await held.reached;
    const [message] = await door.person.mailbox(id);
    expect(message).toMatchObject({ state: 'delivered' });
    await first.kill();
    await taking;
    await until(() => door.lastPost!.signal.aborted);
    held.release();
    await until(async () => (await door.person.getMessage(message!.id)).state === 'queued');
    await using second = await McpClient.connect(door, credential, era);
    const again = textOf(await second.call('a2a_check_updates'));
    expect(again.split('taken and lost')).toHaveLength(2);
    expect(again).toContain('you may have seen it before');
    expect(textOf(await second.call('a2a_check_updates'))).toBe(NOTHING_NEW);
  });

  test('[WAK9.6] a parallel call does not make it read: it comes again all the same, and is read once a later call shows it', async () => {
    await using door = await McpDoor.make();
    const { credential, id } = await door.session('ann');
    const first = await McpClient.connect(door, credential, era);
    await using beside = await McpClient.connect(door, credential, era);
    const child = await spawn(first, 'x');
    await report(door, child, 'taken and lost');
    const held = door.hold('checkUpdates');
    const taking = first.call('a2a_check_updates').catch(String);
    await held.reached;
    const post = door.lastPost!;
    const state = async () => (await door.person.mailbox(id)).map((message) => message.state);
    expect(textOf(await beside.call('a2a_check_updates'))).toBe(NOTHING_NEW);
    expect(await state()).toEqual(['delivered']);
    await first.kill();
    await taking;
    await until(() => post.signal.aborted);
    held.release();
    await until(async () => (await state())[0] === 'queued');
    expect(textOf(await beside.call('a2a_check_updates'))).toContain('taken and lost');
    expect(await state()).toEqual(['delivered']);
    expect(textOf(await beside.call('a2a_check_updates'))).toBe(NOTHING_NEW);
    expect(await state()).toEqual(['read']);
  });

  test('[MCP34] so it is for a worker’s connection', async () => {
    await using door = await McpDoor.make();
    const { tasks } = await door.person.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: 'A', agent: 'coder' }] },
      { start: true },
    );
    const parent = await door.stage.at(tasks[0]!.task.id);
    const first = await McpClient.connect(door, door.credentialOf(parent), era);
    const child = await spawn(first, 'x');
    const held = door.hold('awaitSubtasks');
    const taking = first.call('a2a_await_subtasks', { taskIds: [child] }).catch(String);
    await until(() => door.busy > 0);
    await report(door, child, 'for the parent');
    await held.reached;
    await first.kill();
    await taking;
    await until(() => door.lastPost!.signal.aborted);
    held.release();
    const mail = async () => await door.person.mailbox(parent.spec.session);
    await until(async () => (await mail()).some(({ state, kind }) => kind === 'end' && state === 'queued'));
    await using second = await McpClient.connect(door, door.credentialOf(parent), era);
    const again = textOf(await second.call('a2a_await_subtasks', { taskIds: [child] }));
    expect(again.split('for the parent')).toHaveLength(2);
    expect(textOf(await second.call('a2a_check_updates'))).toBe(NOTHING_NEW);
  });
});

describe('who calls', () => {
  const era = '2026';

  test('[MCP35] a chat that comes back, also to another daemon, finds its children and its mail', async () => {
    await using door = await McpDoor.make();
    const { credential } = await door.session('ann');
    const first = await McpClient.connect(door, credential, era);
    const ended = await spawn(first, 'x');
    const open = await spawn(first, 'y');
    await first.kill();
    await report(door, ended, 'made while you were away');
    await door.stop();
    await door.resume();
    await using back = await McpClient.connect(door, credential, era);
    const status = await back.call('a2a_subtask_status');
    expect(textOf(status)).toContain(open);
    expect(textOf(status)).toContain('[Reveille: 1 message waits for you');
    expect(textOf(await back.call('a2a_check_updates'))).toContain('made while you were away');
    expect(textOf(await back.call('a2a_check_updates'))).toBe(NOTHING_NEW);
    await report(door, open, 'and this one');
    expect(textOf(await back.call('a2a_await_subtasks', { taskIds: [open] }))).toContain('and this one');
  });

  test('[MCP36] a worker sees the tools of its definition and no others, and a chat those of a chat', async () => {
    await using door = await McpDoor.make();
    const root = mkdtempSync(join(tmpdir(), 'reveille-mcp-'));
    try {
      makeRepository(root);
      const task = (agent: string) => ({ id: agent, prompt: 'x', agent });
      const plan = { name: 'p', repository: root, tasks: [task('coder'), task('reviewer')] };
      const { tasks } = await door.person.savePlan(plan, { start: true });
      const at = async (name: string) =>
        await door.stage.at(tasks.find(({ task: { name: each } }) => each === name)!.task.id);
      const [coder, reviewer] = [await at('coder'), await at('reviewer')];
      await using writes = await McpClient.connect(door, door.credentialOf(coder), era);
      await using reads = await McpClient.connect(door, door.credentialOf(reviewer), era);
      const { credential } = await door.session('ann');
      await using chat = await McpClient.connect(door, credential, era);
      expect(writes.tools).toEqual(
        expect.arrayContaining(['edit_file', 'read_file', 'a2a_subtask_complete']),
      );
      expect(reads.tools).toEqual(expect.arrayContaining(['read_file', 'a2a_subtask_complete']));
      for (const name of ['edit_file', 'create_file', 'delete_file']) {
        expect(reads.tools).not.toContain(name);
        const refused = await reads.call(name, { path: 'README.md' });
        expect(refused).toMatchObject({ isError: true });
      }
      for (const worker of [writes, reads])
        expect(worker.tools.filter((name) => name.startsWith('orchestrator_'))).toEqual([]);
      expect(chat.tools).toContain('a2a_spawn_subtask');
      for (const name of ['a2a_subtask_complete', 'a2a_notify_parent', 'edit_file', 'run_command'])
        expect(chat.tools).not.toContain(name);
    } finally {
      await door.stop();
      rmSync(root, { recursive: true });
    }
  });

  test('[AGT4.34] a worker at the deepest level is not offered what it could hand work on with', async () => {
    await using door = await McpDoor.make();
    const { credential } = await door.session('ann');
    await using chat = await McpClient.connect(door, credential, era);
    const deep = await door.stage.at(await spawn(chat, 'x'));
    await using worker = await McpClient.connect(door, door.credentialOf(deep), era);
    expect(worker.tools).toEqual(expect.arrayContaining(['a2a_subtask_complete', 'a2a_send_message']));
    expect(worker.tools.filter((name) => DELEGATION_TOOLS.includes(name))).toEqual([]);
    expect((await worker.call('a2a_spawn_subtask', { prompt: 'y' })).isError).toBe(true);
  });

  test('[MCP37] a worker’s token is worth nothing for another’s task, nor after its run, nor under a newer lease', async () => {
    await using door = await McpDoor.make();
    const names = ['a', 'b'];
    const { tasks } = await door.person.savePlan(
      { name: 'p', tasks: names.map((id) => ({ id, prompt: id, agent: 'coder' })) },
      { start: true },
    );
    const [a, b] = await Promise.all(tasks.map(({ task }) => door.stage.at(task.id)));
    const token = door.credentialOf(a!);
    await using mine = await McpClient.connect(door, token, era);
    const other = b!.spec.task.id;
    for (const tool of [
      'a2a_cancel_subtask',
      'a2a_retry_subtask',
      'a2a_subtask_status',
      'a2a_subtask_diff',
      'a2a_discard_subtask',
    ]) {
      const refused = await mine.call(tool, { taskId: other });
      expect([tool, refused.isError, refused._meta?.['dev.reveille/error']]).toEqual([
        tool,
        true,
        { code: expect.stringMatching(/^not_(?:allowed|found)$/) },
      ]);
    }
    const complete = { status: 'success', output: 'I am b', taskId: other };
    expect((await mine.call('a2a_subtask_complete', complete)).isError).toBe(true);
    expect(await door.person.getTask(other)).toMatchObject({ task: { state: 'running' } });
    expect(await door.person.getTask(a!.spec.task.id)).toMatchObject({ task: { state: 'running' } });
    // Its run ends: the same connection is refused from then on, and so is a new one.
    const done = await mine.call('a2a_subtask_complete', { status: 'success', output: 'I am a' });
    expect(done.isError).toBeFalsy();
    await expect(mine.call('a2a_check_updates')).rejects.toThrow(/401|unauthorized|refused/i);
    await expect(McpClient.connect(door, token, era)).rejects.toThrow(/401|unauthorized|refused/i);
    // So it is with a run that goes on under a newer lease.
    const before = door.credentialOf(b!);
    await door.stop();
    await door.resume();
    const resumed = await door.stage.at(other);
    expect(resumed.spec.epoch).toBeGreaterThan(b!.spec.epoch);
    await expect(McpClient.connect(door, before, era)).rejects.toThrow(/401|unauthorized|refused/i);
    await using goesOn = await McpClient.connect(door, door.credentialOf(resumed), era);
    expect(goesOn.tools).toContain('a2a_subtask_complete');
  });
});

test('[MCP37] a worker’s connection is not another client’s, and its token opens no door of the person', async () => {
  await using door = await McpDoor.make();
  const { tasks } = await door.person.savePlan(
    { name: 'p', tasks: ['a', 'b'].map((id) => ({ id, prompt: id, agent: 'coder' })) },
    { start: true },
  );
  const [a, b] = await Promise.all(tasks.map(({ task }) => door.stage.at(task.id)));
  const { credential: chat } = await door.session('ann');
  const post = async (credential: string, message: object, session?: string) => {
    const answer = await fetch(`${door.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${credential}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    await answer.text();
    return answer;
  };
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const opened = await post(door.credentialOf(a!), { id: 1, method: 'initialize', params });
  const session = opened.headers.get('mcp-session-id') ?? '';
  expect(session).not.toBe('');
  const list = { id: 2, method: 'tools/list', params: {} };
  expect((await post(door.credentialOf(a!), list, session)).status).toBe(200);
  for (const stranger of [door.credentialOf(b!), chat, door.token])
    expect((await post(stranger, list, session)).status).toBe(404);
  for (const name of ['grant', 'rotate', 'stop', 'ticket'] as const) {
    const { path } = HTTP_ROUTES[name];
    const { status } = await wire(door.port, request(door.port, door.credentialOf(a!), { path, body: '{}' }));
    expect([path, status]).toEqual([path, 403]);
  }
});

function makeRepository(root: string): void {
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
      cwd: root,
    });
  mkdirSync(root, { recursive: true });
  git('init', '-q', '-b', 'main');
  writeFileSync(join(root, 'README.md'), 'a shop\n');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
}

test.for(['2025', '2026'] as const)(
  '[ID6.21] a client of the %s era that listens for notices is cut off when its credential ends',
  async (era) => {
    await using door = await McpDoor.make();
    const { id, credential } = await door.session('chat');
    const streams = new Set<string>();
    const watched: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
      const [taken, seen] = response.body!.tee();
      const sent = typeof init?.body === 'string' ? init.body : '';
      const name = `${init?.method} ${sent.slice(0, 60)}`;
      streams.add(name);
      const gone = (): boolean => streams.delete(name);
      void seen.pipeTo(new WritableStream()).then(gone, gone);
      return new Response(taken, response);
    };
    const client = new Client(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: era === '2025' ? 'legacy' : { pin: '2026-07-28' } },
        listChanged: { tools: { onChanged: () => undefined } },
      },
    );
    const requestInit = { headers: { authorization: `Bearer ${credential}` } };
    const url = new URL(`${door.url}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit, fetch: watched }));
    const isListening = (): boolean => [...streams].some((name) => /^GET|listen/.test(name));
    await until(isListening);
    await door.person.endSession(id);
    await until(() => !isListening());
    await client.close();
  },
);
