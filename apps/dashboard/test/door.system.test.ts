import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createHmac } from 'node:crypto';
import { PAGE_ROUTES } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window, buildPage } from './browser.ts';
import { House, until } from './house.ts';

describe('being let in', () => {
  let house: House;
  let url: string;
  beforeAll(async () => {
    buildPage();
    house = new House();
    await house.connect();
    ({ url } = await house.running());
  });
  afterAll(async () => {
    await house?.[Symbol.asyncDispose]();
  });

  const post = async (path: string, body: object, credential?: string) => {
    const headers = {
      'content-type': 'application/json',
      ...(credential ? { authorization: `Bearer ${credential}` } : {}),
    };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return {
      status: response.status,
      answer: (await response.json()) as { value?: { credential: string }; error?: { message: string } },
    };
  };
  const login = async (ticket: string) => post(PAGE_ROUTES.login, { ticket });

  test('[DSH1.2][DSH1.3] a ticket counts once; shown again it puts out whom it let in; pages have few rights', async () => {
    const person = await house.connect();
    const ticket = await person.pageTicket();
    const { credential } = (await login(ticket)).answer.value!;
    const page = person.as(credential);
    expect((await page.views.board()).plans).toEqual([]);
    expect(await page.listPlans()).toEqual([]);
    const refused = [
      () => page.rotateToken(),
      () => page.stopDaemon(),
      () => page.pageTicket(),
      () => page.grantSession({ name: 'x' }),
    ];
    for (const call of refused) await expect(call()).rejects.toMatchObject({ code: 'not_allowed' });

    const again = await login(ticket);
    expect([again.status, again.answer.error?.message]).toEqual([401, expect.stringContaining('used twice')]);
    await expect(page.listPlans()).rejects.toMatchObject({ code: 'unauthorized' });
    for (const wrong of ['rvt_nothing', '', `${ticket}x`]) expect((await login(wrong)).status).toBe(401);

    const second = person.as((await login(await person.pageTicket())).answer.value!.credential);
    expect(await second.listPlans()).toEqual([]);
    await person.rotateToken();
    await expect(second.listPlans()).rejects.toMatchObject({ code: 'unauthorized' });
    const log = readFileSync(join(house.env['REVEILLE_HOME']!, 'logs', 'daemon.log'), 'utf8');
    expect(log).not.toContain(ticket);
  });

  test('[DSH1.6] the daemon shows that it knows the credential, and says nothing of one that it does not know', async () => {
    const person = await house.connect();
    const { credential } = (await login(await person.pageTicket())).answer.value!;
    const page = credential.slice('rvb_'.length).split('.')[0]!;
    const nonce = 'a'.repeat(32);
    const { answer } = await post(PAGE_ROUTES.proof, { page, nonce });
    expect(answer.value).toEqual({ proof: createHmac('sha256', credential).update(nonce).digest('hex') });
    expect((await post(PAGE_ROUTES.proof, { page: 'b'.repeat(32), nonce })).status).toBe(401);
  });

  test('[DSH1.4] the page is served to anybody, with no data, under a strict CSP; nothing else of the folder is', async () => {
    for (const path of ['/dashboard', '/dashboard/', '/dashboard/plan/plan_1/graph']) {
      const response = await fetch(`${url}${path}`);
      expect([path, response.status, response.headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ]);
      const csp = response.headers.get('content-security-policy') ?? '';
      expect(csp.split('; ')).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "frame-ancestors 'none'",
        ]),
      );
      expect(csp).not.toContain('unsafe');
      expect(await response.text()).not.toMatch(/<style|<script>|style="/);
    }
    for (const path of ['/dashboard/.stamp.x', '/dashboard/package.json', '/dashboard/assets/none.js'])
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 404]);
    expect((await fetch(`${url}/`)).status).toBe(401);
  });

  describe.skipIf(WITHOUT_BROWSER !== null)('in a browser', () => {
    test('[DSH1.1] neither the address nor the history keeps what lets somebody in', async () => {
      await using window = await Window.open();
      const page = await window.page(house);
      expect(page.url()).toBe(`${url}/dashboard/`);
      await page.keyboard.press('g');
      await page.keyboard.press('t');
      await page.getByRole('heading', { name: 'Tree' }).waitFor();
      await page.goBack();
      expect(page.url()).toBe(`${url}/dashboard/`);
      // A second tab of the same browser is in, another browser is not.
      const tab = await window.context.newPage();
      await tab.goto(`${url}/dashboard/costs`);
      await tab.locator('[data-link="live"]').waitFor();
      await using other = await Window.open();
      const stranger = await other.context.newPage();
      await stranger.goto(`${url}/dashboard/`);
      await stranger.getByText('This browser is not let in').waitFor();
    });

    test('[DSH1.6] whoever has the port after the daemon is not sent the credential', async () => {
      await using own = new House();
      await using window = await Window.open();
      const page = await window.page(own);
      const { url: was, pid } = await own.running();
      const credential = (await page.evaluate('localStorage.getItem("reveille.page")')) as string;
      expect(credential).toMatch(/^rvb_/);
      const heard: string[] = [];
      const thief = createServer((request, response) => {
        heard.push(JSON.stringify([request.url, request.headers]));
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ value: { proof: 'f'.repeat(64) } }));
      });
      process.kill(pid, 'SIGKILL');
      await page.locator('[data-link="offline"]').waitFor();
      // Another program of the machine may have the port for a moment.
      await until(
        () =>
          new Promise<boolean>((resolve) => {
            thief.once('error', () => resolve(false));
            thief.listen(Number(new URL(was).port), '127.0.0.1', () => resolve(true));
          }),
      );
      await page.getByText('is not your daemon').waitFor();
      expect(heard.length).toBeGreaterThan(0);
      expect(heard.join()).not.toContain(credential.split('.')[1]);
      thief.closeAllConnections();
      await new Promise((resolve) => thief.close(resolve));
    });
  });
});
