import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { daemonStatus } from '@reveille/daemon/connect';
import { serviceOf } from '../src/service/files.ts';
import { House, processesOf, until } from './house.ts';

/** A `systemctl` that writes down what it is called with, and a person's PATH with nothing else of the kind. */
function withSystemctl(house: House, exit: number): () => string[] {
  const folder = join(house.folder, 'bin');
  const calls = join(house.folder, 'systemctl-calls');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'systemctl'), `#!/bin/sh\necho "$@" >> '${calls}'\nexit ${exit}\n`, {
    mode: 0o755,
  });
  house.env['PATH'] = `${folder}:${process.env['PATH']}`;
  return () => (existsSync(calls) ? readFileSync(calls, 'utf8').trimEnd().split('\n') : []);
}

/** The words of a line of a unit. */
const words = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) =>
    word.replaceAll('%%', '%').replaceAll('$$', '$').replaceAll(/\\(.)/g, '$1'),
  );

describe.runIf(process.platform === 'linux')('a systemd user unit', () => {
  test('[DMN3.32] it is written on request, once, and removed; nothing is started', async () => {
    await using house = new House();
    const calls = withSystemctl(house, 0);
    const path = join(house.env['HOME']!, '.config/systemd/user/reveille.service');
    const enable = 'systemctl --user enable --now reveille.service';
    const first = await house.run(['daemon', 'install']);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toContain(`Written: ${path}\nTo enable it: reveille daemon stop && ${enable}\n`);
    const text = readFileSync(path, 'utf8');
    expect(await house.json('daemon', 'install')).toEqual({
      manager: 'systemd',
      path,
      written: false,
      works: true,
      enable,
    });
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(new Set(calls())).toEqual(new Set(['--user daemon-reload']));
    expect(text).toContain(`Environment="REVEILLE_HOME=${house.env['REVEILLE_HOME']}"`);
    expect((await house.run(['doctor', '--json'])).out).toContain(`The system is told to run it by ${path}.`);
    expect(await house.json('daemon', 'uninstall')).toEqual({ removed: true, path });
    expect(existsSync(path)).toBe(false);
    expect((await house.run(['daemon', 'uninstall'])).out).toBe(
      `Nothing is installed: there is no ${path}.\n`,
    );
    expect(processesOf(house.env['REVEILLE_HOME']!)).toEqual([]);
  });

  test('[DMN3.32] where systemd is missing nothing is written, and where it does not answer that is said', async () => {
    await using house = new House();
    const path = join(house.env['HOME']!, '.config/systemd/user/reveille.service');
    house.env['PATH'] = join(house.folder, 'nothing');
    const missing = await house.run(['daemon', 'install']);
    expect(missing).toMatchObject({ code: 5, out: '' });
    expect(missing.err).toContain('There is neither systemd nor launchd here, so nothing was written.');
    expect(existsSync(path)).toBe(false);
    withSystemctl(house, 1);
    expect((await house.run(['daemon', 'install'])).out).toContain(
      '`systemctl --user` does not work in this session',
    );
    expect(existsSync(path)).toBe(true);
  });

  test('[DMN3.32] what it starts is the daemon, in the foreground, without a supervisor of ours', async () => {
    await using house = new House({ REVEILLE_DAEMON_RESTART: undefined });
    withSystemctl(house, 0);
    const { path } = await house.json<{ path: string }>('daemon', 'install');
    const text = readFileSync(path, 'utf8');
    const [program = '', ...args] = words(/^ExecStart=(.*)$/m.exec(text)![1]!);
    const env = Object.fromEntries(
      [...text.matchAll(/^Environment=(.*)$/gm)].map(([, line = '']) => {
        const [word = ''] = words(line);
        return [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const;
      }),
    );
    const start = () => spawn(program, args, { env: { HOME: house.env['HOME'], ...env }, stdio: 'ignore' });
    const daemon = start();
    await until(async () => (await daemonStatus({ env: house.env })).state === 'running');
    const status = await daemonStatus({ env: house.env });
    expect(status).toMatchObject({ health: { pid: daemon.pid }, supervision: { by: 'systemd', pid: null } });
    expect((await house.run(['daemon', 'status'])).out).toContain('systemd starts it again if it dies.');
    // A second one is no failure that would be started again and again.
    const second = start();
    expect(await new Promise((resolve) => second.once('exit', resolve))).toBe(0);
    daemon.kill('SIGKILL');
    await until(() => processesOf(house.env['REVEILLE_HOME']!).length === 0);
    writeFileSync(join(house.env['REVEILLE_HOME']!, 'config.yaml'), 'engine: 4\n');
    const wrong = start();
    // No start can succeed before a person has done something: RestartPreventExitStatus.
    expect(await new Promise((resolve) => wrong.once('exit', resolve))).toBe(78);
    rmSync(join(house.env['REVEILLE_HOME']!, 'config.yaml'));
  });
});

test('[DMN3.32] names with blanks, quotes, percent and dollar signs stay what they are; keys of models are not passed on', () => {
  const program = ['/opt/a "b" 100%/no$de', 'daemon', 'run'];
  const env = { HOME: '/h', PATH: '/a b:/c%d', REVEILLE_HOME: '/s "t"', OPENAI_API_KEY: 'k' };
  const unit = serviceOf(env, { platform: 'linux', program })!;
  expect(unit.path).toBe('/h/.config/systemd/user/reveille.service');
  expect(unit.text).toContain(
    'ExecStart="/opt/a \\"b\\" 100%%/no$$de" "daemon" "run" "--supervised-by" "systemd"\n',
  );
  expect(unit.text).toContain('Environment="PATH=/a b:/c%%d"\nEnvironment="REVEILLE_HOME=/s \\"t\\""\n');
  const item = serviceOf({ ...env, REVEILLE_HOME: '/a&b<c' }, { platform: 'darwin', program })!;
  expect(item).toMatchObject({
    manager: 'launchd',
    path: '/h/Library/LaunchAgents/dev.reveille.daemon.plist',
  });
  expect(item.text).toContain('<string>/opt/a "b" 100%/no$de</string>');
  expect(item.text).toContain('<key>REVEILLE_HOME</key><string>/a&amp;b&lt;c</string>');
  for (const { text } of [unit, item]) expect(text).not.toContain('OPENAI');
  expect(serviceOf(env, { platform: 'win32', program })).toBeNull();
});
