import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { innerEnv, LATER, pathInside, splitEnv, type EnvParts } from '../../src/sandbox/env.ts';

const parts: EnvParts = {
  outer: {},
  path: ['/usr/bin'],
  home: '/home/me',
  proxyPort: null,
  locks: true,
  extra: {},
};

describe('the environment inside', () => {
  test('[BND2.12] only what is named gets in, and what is given wins', () => {
    const outer = {
      LANG: 'de_DE.UTF-8',
      LC_ALL: 'C',
      TZ: 'UTC',
      TERM: 'xterm',
      AWS_SECRET_ACCESS_KEY: 's',
      SSH_AUTH_SOCK: '/s',
      REVEILLE_TOKEN: 't',
      LD_PRELOAD: '/x.so',
      NODE_OPTIONS: '--require=x',
      GIT_DIR: '/x',
      HOME: '/other',
      DBUS_SESSION_BUS_ADDRESS: 'x',
      XAUTHORITY: 'x',
      DISPLAY: ':0',
    };
    expect(innerEnv({ ...parts, outer, extra: { TZ: 'Asia/Tokyo', PORT: '4000' } })).toEqual({
      LANG: 'de_DE.UTF-8',
      LC_ALL: 'C',
      TZ: 'Asia/Tokyo',
      TERM: 'xterm',
      PATH: '/usr/bin',
      HOME: '/home/me',
      TMPDIR: '/tmp',
      PERL_BADLANG: '0',
      PORT: '4000',
    });
  });

  test('[BND2.12] the path keeps what can be seen inside, and never a relative folder', () => {
    const outer = { PATH: '/usr/bin:.:bin::/home/me/bin:/usr/bin:/opt/x' };
    const visible = (folder: string): boolean => !folder.startsWith('/home');
    const node = dirname(process.execPath);
    expect(pathInside(outer, visible)).toEqual([
      ...new Set(['/usr/bin', '/opt/x', ...(visible(node) ? [node] : [])]),
    ]);
    expect(pathInside({}, (folder) => folder !== node)).toEqual(
      ['/usr/bin', '/bin'].filter((folder) => folder !== node),
    );
  });

  test('[BND2.12] variables that change programs before they start are not given to bubblewrap itself', () => {
    const env = {
      LD_PRELOAD: '/evil.so',
      LD_LIBRARY_PATH: '/x',
      GLIBC_TUNABLES: 'x',
      GCONV_PATH: '/x',
      PERL5OPT: '-Mx',
      TOKEN: 't',
      PATH: '/bin',
    };
    const early = {
      LD_PRELOAD: '/evil.so',
      LD_LIBRARY_PATH: '/x',
      GLIBC_TUNABLES: 'x',
      GCONV_PATH: '/x',
      PERL5OPT: '-Mx',
    };
    expect(splitEnv(env, false)).toEqual({ started: { TOKEN: 't', PATH: '/bin' }, told: early });
    const renamed = Object.fromEntries(
      Object.entries(early).map(([name, value]) => [`${LATER}${name}`, value]),
    );
    expect(splitEnv(env, true)).toEqual({ started: { TOKEN: 't', PATH: '/bin', ...renamed }, told: {} });
  });

  test('[BND2.12] a variable that could be read as another is refused', () => {
    for (const extra of [{ 'A=B': 'c' }, { '': 'x' }, { A: 'b\0C=d' }])
      expect(() => innerEnv({ ...parts, extra: extra as unknown as Record<string, string> })).toThrow(
        /cannot be set/,
      );
  });

  test('[BND2.9] with a list, programs are told of the proxy in every spelling they know', () => {
    const env = innerEnv({ ...parts, proxyPort: 3128 });
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'])
      expect(env[name]).toBe('http://127.0.0.1:3128');
    expect(env['NO_PROXY']).toContain('127.0.0.1');
    expect(env['NODE_USE_ENV_PROXY']).toBe('1');
  });

  test('[BND2.7] git is told not to take locks for its own convenience where it cannot', () => {
    expect(innerEnv({ ...parts, locks: false })['GIT_OPTIONAL_LOCKS']).toBe('0');
    expect(innerEnv(parts)).not.toHaveProperty('GIT_OPTIONAL_LOCKS');
  });
});
