import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Request } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { DesktopNotices } from '../src/compose/notices.ts';
import { until } from './house.ts';

/** A desktop whose program writes down what it was told, argument by argument. */
class Desktop implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'reveille-desktop-'));
  readonly said = join(this.folder, 'said');

  constructor(program: string) {
    mkdirSync(join(this.folder, 'bin'));
    const path = join(this.folder, 'bin', program);
    const script = `#!/bin/sh\nfor word in "$@"; do printf '%s\\n' "$word"; done > "${this.said}.new"\nmv "${this.said}.new" "${this.said}"\n`;
    writeFileSync(path, script);
    chmodSync(path, 0o755);
  }

  notices(
    desktop: 'auto' | 'on' | 'off',
    more: { platform?: NodeJS.Platform; env?: NodeJS.ProcessEnv } = {},
  ): DesktopNotices {
    const env = { PATH: `${join(this.folder, 'bin')}:/bin:/usr/bin`, ...more.env };
    const log = { warn: (message: string): never => expect.fail(message) };
    return new DesktopNotices({ desktop, env, platform: more.platform ?? 'linux', log });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

const change = (more: Partial<Request> = {}) => {
  const doc = {
    kind: 'question',
    state: 'open',
    with: null,
    text: '-x <b>which</b>\n$(touch bad)?',
    ...more,
  };
  return { writes: [{ table: 'request' as const, id: 'req_1', expect: 0, doc: doc as Request }] };
};

test('[INB1.20] what comes into the inbox is told to the desktop, as words and nothing else', async () => {
  using desktop = new Desktop('notify-send');
  const notices = desktop.notices('auto', { env: { DISPLAY: ':0' } });
  notices.heard(change({ with: 'session_x' as Request['with'] }));
  notices.heard(change({ state: 'answered' }));
  notices.heard(change());
  await until(() => existsSync(desktop.said));
  notices.close();
  expect(readFileSync(desktop.said, 'utf8').split('\n')).toEqual([
    '--app-name=Reveille',
    '--',
    'A worker asks you',
    '-x  b which /b $(touch bad)? (reveille inbox)',
    '',
  ]);
});

test('[INB1.20] on a Mac by its own program', async () => {
  using desktop = new Desktop('osascript');
  const notices = desktop.notices('on', { platform: 'darwin' });
  notices.heard(change({ kind: 'plan', text: 'Start it?' }));
  await until(() => existsSync(desktop.said));
  notices.close();
  expect(readFileSync(desktop.said, 'utf8')).toMatch(
    /A plan waits for your approval\nStart it\? \(reveille inbox\)\n$/,
  );
});

test.for([
  ['off', { env: { DISPLAY: ':0' } }, 'notify-send'],
  ['auto', { env: {} }, 'notify-send'],
  ['auto', { platform: 'darwin' as const, env: { SSH_CONNECTION: 'x' } }, 'osascript'],
  ['on', { env: {} }, 'another-program'],
] as const)('[INB1.21] %s without a desktop or a program tells nobody', ([setting, more, program]) => {
  using desktop = new Desktop(program);
  const notices = desktop.notices(setting, {
    ...more,
    env: { ...more.env, PATH: join(desktop.folder, 'bin') },
  });
  expect(notices.tells).toBe(false);
  notices.heard(change());
});
