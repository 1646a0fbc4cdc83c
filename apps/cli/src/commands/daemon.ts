import type { DaemonStatus, SupervisionStatus } from '@reveille/daemon/connect';
import { ERRORS } from '@reveille/protocol';
import { command } from '../command/spec.ts';
import { print } from '../reach.ts';
import { UsageError } from '../usage.ts';
import { duration } from '../view/words.ts';

const GROUP = 'The daemon';

const daemonStart = command({
  name: 'daemon start',
  group: GROUP,
  summary: 'starts the daemon; every other command does so too when it needs it',
  usage: '',
  about: 'If one runs already, nothing happens.',
  options: {
    set: {
      type: 'list',
      value: 'SETTING=VALUE',
      means: 'a setting, such as engine.concurrency=4; only for one that is started now',
    },
  },
  json: '{ state: "running", url, health, supervision }',
  async run(call) {
    const { connect, daemonStatus } = await import('@reveille/daemon/connect');
    const { env } = call.io;
    await connect({ env, flags: settingsOf(call.options.set) });
    const now = await daemonStatus({ env });
    print(call, now, () => statusLines(now));
  },
});

function settingsOf(given: readonly string[]): Record<string, string> {
  const pairs = given.map((text) => {
    const equals = text.indexOf('=');
    if (equals < 1)
      throw new UsageError(`--set takes SETTING=VALUE, not "${text.slice(0, 40)}".`, 'daemon start');
    return [text.slice(0, equals), text.slice(equals + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

const daemonStop = command({
  name: 'daemon stop',
  group: GROUP,
  summary: 'stops the daemon and its supervisor; what ran goes on when it is started again',
  usage: '',
  about:
    'It lets turns come to their end for a while, and waits until it is gone. To end the work itself: reveille stop.',
  options: {},
  json: '{ stopped }: whether one ran.',
  async run(call) {
    const { stopDaemon } = await import('@reveille/daemon/connect');
    const stopped = await stopDaemon({ env: call.io.env });
    print(call, { stopped }, () => [stopped ? 'Stopped.' : 'No daemon ran.']);
  },
});

const daemonState = command({
  name: 'daemon status',
  group: GROUP,
  summary: 'says whether the daemon runs, without starting it',
  usage: '',
  about: 'Exit code 0 if it runs and answers, 7 if not.',
  options: {},
  json: '{ state: "running", url, health }, { state: "none", why }, or { state: "silent", pid, version, why }; each with supervision: { by, pid, restarts: [{ at, why }], gaveUp } or null',
  async run(call) {
    const { daemonStatus } = await import('@reveille/daemon/connect');
    const now = await daemonStatus({ env: call.io.env });
    print(call, now, () => statusLines(now));
    return now.state === 'running' ? 0 : ERRORS.unreachable.exit;
  },
});

export function words(status: DaemonStatus): string {
  if (status.state === 'none') return `No daemon runs: ${sentence(status.why)}`;
  if (status.state === 'silent')
    return `The daemon (process ${status.pid}, version ${status.version}) does not answer: ${status.why}. End it: reveille daemon stop.`;
  const { pid, version, startedAt } = status.health;
  return `The daemon runs: process ${pid}, version ${version}, ${status.url}, for ${duration(Date.now() - startedAt)}.`;
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

const statusLines = (now: DaemonStatus): string[] => [
  words(now),
  ...(now.supervision ? supervisionLines(now, now.supervision) : []),
];

/** Who starts the daemon again if it dies, and how often that was needed. */
export function supervisionWords({ by, pid }: SupervisionStatus): string {
  if (by === 'reveille') return `Its supervisor (process ${pid}) starts it again if it dies.`;
  if (by === 'nobody') return 'It has no supervisor: if it dies, the next command starts it again.';
  return `${by} starts it again if it dies.`;
}

function supervisionLines({ state }: DaemonStatus, supervision: SupervisionStatus): string[] {
  const { restarts, gaveUp, pid } = supervision;
  const at = (time: number): string => new Date(time).toLocaleString('sv');
  return [
    ...(state === 'none' ? [] : [supervisionWords(supervision)]),
    ...(state === 'none' && pid !== null ? [`Its supervisor (process ${pid}) starts it again soon.`] : []),
    ...restarts.map(({ at: time, why }) => `Started again ${at(time)}: ${sentence(why)}`),
    ...(gaveUp ? [`The last start failed ${at(gaveUp.at)}: ${gaveUp.why}`] : []),
  ];
}

export const daemonCommands = [daemonStart, daemonStop, daemonState];
