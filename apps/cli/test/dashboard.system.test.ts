import { expect, test } from 'vitest';
import { House } from './house.ts';

test('[DSH1.1] `reveille dashboard` prints an address that lets one page in, where no browser can be started', async () => {
  await using house = new House();
  const { url, opened } = await house.json<{ url: string; opened: boolean }>('dashboard');
  expect(opened).toBe(false);
  const [, base = '', ticket = ''] =
    /^(http:\/\/127\.0\.0\.1:\d+)\/dashboard\/#ticket=(rvt_[\w-]{43})$/.exec(url) ?? [];
  const login = () =>
    fetch(`${base}/dashboard/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket }),
    });
  expect((await login()).status).toBe(200);
  expect((await login()).status).toBe(401);
  const said = await house.run(['dashboard', '--print']);
  expect([said.code, said.out]).toEqual([
    0,
    expect.stringMatching(/within a minute.*\nhttp:\/\/127\.0\.0\.1:\d+\/dashboard\/#ticket=rvt_/),
  ]);
});
