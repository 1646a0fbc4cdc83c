import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AcpHouse, endOf, endProcess, play, worktreeWith, type Steps } from './acp-house.ts';
import { until } from './house.ts';

const livingWith = (mark: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => commandOf(pid).includes(`\0${mark}\0`));

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** Processes that fork twice, have a session of their own and no environment, fork again and again, and ignore TERM. */
const leaving = (mark: string): Steps[number] => ({
  do: 'sh',
  command: [
    `setsid env -i /usr/bin/perl -e '$SIG{TERM} = "IGNORE"; exit if fork; exit if fork; sleep 1 while 1' ${mark} < /dev/null > /dev/null 2>&1`,
    `setsid env -i /usr/bin/perl -e '$SIG{TERM} = "IGNORE"; exit if fork; while (1) { exit if fork; select undef, undef, undef, 0.01 }' ${mark} < /dev/null > /dev/null 2>&1`,
  ].join('\n'),
});

function marked(): string {
  const mark = `survivor-${randomUUID()}`;
  onTestFinished(() => {
    for (const pid of livingWith(mark)) endProcess(pid);
  });
  return mark;
}

describe('an agent without a sandbox', () => {
  test('[BND7.10] leaves no process behind when it is cancelled, and none when its daemon is killed and comes back', async () => {
    const mark = marked();
    await using house = new AcpHouse({ sandbox: { mode: 'off' } });
    let client = await house.connect();
    const first = await house.run(client, play([leaving(mark), { do: 'hang', ready: 'up' }]));
    await worktreeWith(client, first, 'up');
    await until(() => livingWith(mark).length >= 2);
    await client.cancelTask(first.task.id);
    await endOf(client, first);
    await until(() => livingWith(mark).length === 0);

    const second = await house.run(client, play([leaving(mark), { do: 'hang', ready: 'up' }]), { id: 'b' });
    await worktreeWith(client, second, 'up');
    await until(() => livingWith(mark).length >= 2);
    await house.kill('SIGKILL');
    client = await house.connect();
    await client.cancelTask(second.task.id);
    await endOf(client, second);
    await until(() => livingWith(mark).length === 0);
  });
});

test.each(['warn', 'off'] as const)(
  '[BND7.10] a run that takes more memory than it may is ended with the reason, and not tried again (sandbox %s)',
  async (mode) => {
    await using house = new AcpHouse({ sandbox: { mode, memoryMb: 400 } });
    const client = await house.connect();
    const hogs = `for i in 1 2 3 4 5 6 7 8; do perl -e 'my $x = "x" x 50_000_000; sleep 1 while 1' & done; wait`;
    const view = await house.run(client, play([{ do: 'sh', command: hogs }]));
    expect(await endOf(client, view)).toMatchObject({
      status: 'failed',
      error: { class: 'limit', message: expect.stringMatching(/memory together.*sandbox\.memoryMb/) },
    });
    expect((await client.getTask(view.task.id)).task.attempts ?? 1).toBeLessThanOrEqual(1);
  },
);
