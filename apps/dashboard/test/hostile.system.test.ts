import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window } from './browser.ts';
import { House, until } from './house.ts';

if (WITHOUT_BROWSER) test.skip(`[DSH1.40] hostile content: ${WITHOUT_BROWSER}`, () => undefined);

describe.skipIf(WITHOUT_BROWSER !== null)('hostile', () => {
  let house: House;
  let window: Window;
  /** A site of somebody else, on this machine as agents can have them. */
  let evil: Server;
  let evilPort: number;
  const asked: string[] = [];

  beforeAll(async () => {
    house = new House();
    window = await Window.open();
    evil = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>evil</title><body></body>');
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    ({ port: evilPort } = evil.address() as AddressInfo);
  });

  afterAll(async () => {
    await window?.[Symbol.asyncDispose]();
    await new Promise((resolve) => evil.close(resolve));
    await house?.[Symbol.asyncDispose]();
  });

  test('[DSH1.40] whatever a text holds is shown as text: nothing runs, nothing is fetched, nothing looks like ours', async () => {
    const bad = (where: string): string =>
      [
        `${where}<img src="http://127.0.0.1:${evilPort}/img" onerror="globalThis.pwned='${where}'">`,
        `<script>globalThis.pwned="${where}"</script>`,
        '<button data-act="fake">Approve</button>',
      ].join('');
    const long = (where: string): string =>
      [
        bad(where),
        `</textarea></title><svg onload="globalThis.pwned='${where}'">`,
        `![i](http://127.0.0.1:${evilPort}/markdown) [a](javascript:globalThis.pwned='${where}')`,
        `\`<b>${where}</b>\` \u001b[31mred\u001b[0m \u001b]8;;http://127.0.0.1:${evilPort}/osc\u0007link\u001b]8;;\u0007 \u202egnp.exe`,
        '```html',
        `<iframe src="http://127.0.0.1:${evilPort}/frame"></iframe>`,
        '```',
      ].join('\n');
    // A path holds no slash in one of its names.
    const file = `src/<img src=x onerror=globalThis.pwned='file'>.ts`;
    const at = await house.plan({
      name: bad('plan').slice(0, 200),
      description: long('description'),
      repository: house.repository,
      tasks: [
        {
          id: 'a',
          name: bad('name').slice(0, 200),
          prompt: long('prompt'),
          script: {
            steps: [
              { do: 'say', text: long('said') },
              { do: 'edit', path: file, content: long('content') },
              { do: 'notify', text: long('tool') },
              { do: 'ask', text: long('question'), options: [bad('option').slice(0, 200), 'no'] },
            ],
          },
        },
        {
          id: 'b',
          name: 'failing',
          script: { steps: [{ do: 'fail', class: 'invalid', message: long('error') }] },
        },
        { id: 'c', name: 'ending', script: { steps: [{ do: 'report', output: long('output') }] } },
      ],
    });
    const client = await house.connect();
    const [a, b, c] = at.tasks.map(({ task }) => task);
    await until(async () => (await client.inbox()).length > 0);
    await until(async () => (await client.getTask(b!.id)).task.state === 'failed');
    await until(async () => (await client.getTask(c!.id)).task.state === 'completed');
    await client.sendMessage({ to: a!.id, message: long('message') });

    const page = await window.page(house);
    const { origin } = new URL(page.url());
    const elsewhere: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`)) elsewhere.push(request.url());
    });
    const places = {
      '': 'question<img',
      inbox: 'question<img',
      plans: 'plan<img',
      [`plan/${at.plan.id}/graph`]: 'plan<img',
      [`plan/${at.plan.id}/board`]: 'name<img',
      [`plan/${at.plan.id}/list`]: 'name<img',
      tree: 'name<img',
      activity: 'name<img',
      costs: 'plan<img',
      [`task/${a!.id}/transcript`]: 'said<img',
      [`task/${a!.id}/mailbox`]: 'message<img',
      [`task/${a!.id}/diff`]: 'content<img',
      [`task/${a!.id}/task`]: 'prompt<img',
      [`task/${b!.id}/runs`]: 'error<img',
      [`task/${c!.id}/task`]: 'output<img',
    };
    for (const [place, shows] of Object.entries(places)) {
      await page.goto(`${origin}/dashboard/${place}`);
      await page.locator('main').getByText(shows).filter({ visible: true }).first().waitFor();
      for (const summary of await page.locator('main summary').all()) await summary.click();
      expect([place, await strangeIn(page)]).toEqual([place, []]);
    }
    // The same in what is looked for.
    await page.keyboard.press('ControlOrMeta+k');
    await page.locator('.palette-list').getByText('name<img').first().waitFor();
    expect(await strangeIn(page)).toEqual([]);
    expect(elsewhere).toEqual([]);
    expect(asked).toEqual([]);
    expect(window.problems).toEqual([]);
    await page.close();
  });

  /** What is in the page that it did not make itself. */
  async function strangeIn(page: Page): Promise<unknown[]> {
    return (await page.evaluate(`[
      ...(globalThis.pwned === undefined ? [] : ['ran: ' + globalThis.pwned]),
      ...[...document.querySelectorAll('img, iframe, script, object, embed, svg[onload], [data-act=fake], form[action], base')]
        .filter((it) => !(it.matches('.brand img') || it.matches('head script')))
        .map((it) => it.outerHTML),
      ...[...document.querySelectorAll('a')].filter((it) => !/^(\\/dashboard\\/|#main$)/.test(it.getAttribute('href') ?? '')).map((it) => it.outerHTML),
      ...(/[\\u202a-\\u202e\\u2066-\\u2069\\u001b]/.test(document.body.innerText) ? ['unseen characters'] : []),
    ]`)) as unknown[];
  }

  test('[DSH1.5] pages of other sites can neither read, post, frame nor connect', async () => {
    const { origin } = new URL(await house.invitation());
    const client = await house.connect();
    const ticket = await client.pageTicket();
    const before = (await client.listPlans()).length;
    // Another port of the same address is another origin; another name is another site.
    for (const site of [`http://127.0.0.1:${evilPort}/`, `http://localhost:${evilPort}/`]) {
      const page = await window.context.newPage();
      await page.goto(site);
      const tries = (await page.evaluate(
        `(async ([daemon, ticket]) => {
          const result = async (call) => { try { return await call(); } catch (error) { return 'refused'; } };
          const read = (path, init) => result(async () => { const r = await fetch(daemon + path, init); return r.type + ' ' + r.status + ' ' + (await r.text()); });
          const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
          const plan = JSON.stringify([{ name: 'evil', tasks: [{ id: 'a', prompt: 'a' }] }]);
          return {
            page: await read('/dashboard/'),
            health: await read('/v1/health', { credentials: 'include' }),
            login: await read('/dashboard/login', { ...json, body: JSON.stringify({ ticket }) }),
            blind: await result(async () => { await fetch(daemon + '/v1/op/savePlan', { method: 'POST', mode: 'no-cors', credentials: 'include', body: plan }); return 'sent'; }),
            stream: await new Promise((resolve) => { const s = new EventSource(daemon + '/v1/events'); s.onopen = () => resolve('open'); s.onerror = () => { s.close(); resolve('refused'); }; }),
            socket: await new Promise((resolve) => { const s = new WebSocket(daemon.replace('http', 'ws') + '/v1/events'); s.onopen = () => resolve('open'); s.onerror = () => resolve('refused'); }),
            script: await new Promise((resolve) => { const s = document.createElement('script'); s.src = daemon + '/dashboard/first.js'; s.onload = () => resolve('ran'); s.onerror = () => resolve('refused'); document.body.append(s); }),
            frame: await new Promise((resolve) => { const f = document.createElement('iframe'); f.src = daemon + '/dashboard/'; f.onload = () => resolve('loaded'); document.body.append(f); }),
          };
        })(${JSON.stringify([origin, ticket])})`,
      )) as Record<string, string>;
      expect([site, tries]).toEqual([
        site,
        {
          page: 'refused',
          health: 'refused',
          login: 'refused',
          // The browser sends it without saying so, and the daemon does not take it.
          blind: expect.any(String),
          stream: 'refused',
          socket: 'refused',
          script: 'refused',
          // An error page of the browser is loaded too.
          frame: 'loaded',
        },
      ]);
      // The browser tells of it by another way, which can be slower than the page's.
      await until(() => page.frames()[1]?.url().startsWith('chrome-error:'));
      await page.close();
    }
    expect((await client.listPlans()).length).toBe(before);
    // Nobody has used the ticket: it still lets its own page in.
    const own = await window.context.newPage();
    await own.goto(`${origin}/dashboard/#ticket=${ticket}`);
    await own.locator('[data-link="live"]').waitFor();
    expect(await window.context.cookies()).toEqual([]);
    await own.close();
  });
});
