import { until, type House } from './house.ts';
import type { Client, PlanView, TaskId } from '@reveille/protocol';

/** Longer than any test: what is at work stays so. */
const LONG = 3_600_000;

export interface Scene {
  readonly client: Client;
  readonly checkout: PlanView;
  readonly id: (key: string) => TaskId;
}

/** A shop in the middle of a working day: something runs, something waits, something asks, something has failed. */
export async function playScene(house: House): Promise<Scene> {
  const client = await house.connect();
  const { repository } = house;
  const checkout = await house.plan({
    name: 'Checkout with vouchers',
    repository,
    tasks: [
      {
        id: 'prices',
        name: 'Prices in one place',
        script: {
          steps: [
            {
              do: 'say',
              text: 'I read `src/cart.ts`; the total is summed in three places. Moving it to one.',
            },
            { do: 'use', tokens: 18_400, usd: 0.21 },
            {
              do: 'edit',
              path: 'src/prices.ts',
              content: 'export const sum = (prices: number[]) =>\n  prices.reduce((a, b) => a + b, 0);\n',
            },
            { do: 'report', output: 'Prices are summed in src/prices.ts.' },
          ],
        },
      },
      {
        id: 'vouchers',
        name: 'Vouchers',
        dependencies: ['prices'],
        script: {
          steps: [
            {
              do: 'say',
              text: 'Vouchers come off the sum. I split this: a parser, and the rules.\n\n```ts\nexport const less = (sum: number, voucher: Voucher) => Math.max(0, sum - voucher.value);\n```',
            },
            { do: 'use', tokens: 42_100, usd: 0.63 },
            {
              do: 'spawn',
              tasks: [
                {
                  name: 'Parse voucher codes',
                  prompt: 'Parse.',
                  agentType: 'scripted:agent',
                  script: {
                    steps: [
                      { do: 'say', text: 'Reading the codes of last year.' },
                      { do: 'use', tokens: 9_300, usd: 0.08 },
                      { do: 'work', ms: LONG },
                    ],
                  },
                },
                {
                  name: 'Rules of vouchers',
                  prompt: 'Rules.',
                  agentType: 'scripted:agent',
                  script: {
                    steps: [
                      { do: 'edit', path: 'src/rules.ts', content: 'export const rules = [];\n' },
                      { do: 'report', output: 'Two rules.' },
                    ],
                  },
                },
              ],
            },
            { do: 'wait', timeoutMs: LONG },
          ],
        },
      },
      {
        id: 'rounding',
        name: 'Rounding',
        dependencies: ['prices'],
        script: {
          steps: [
            { do: 'say', text: 'Two ways to round, and the tests allow both.' },
            {
              do: 'edit',
              path: 'src/cart.ts',
              content:
                "import { sum } from './prices.ts';\n\nexport const total = (prices: number[]) => Math.round(sum(prices) * 100) / 100;\n",
            },
            { do: 'use', tokens: 12_700, usd: 0.11 },
            {
              do: 'ask',
              text: 'Half a cent: up, as the shop does today, or to even, as the ledger does?',
              options: ['up', 'to even'],
            },
            { do: 'report', output: 'Rounded as you said.' },
          ],
        },
      },
      {
        id: 'receipts',
        name: 'Receipts',
        dependencies: ['vouchers', 'rounding'],
        script: { steps: [{ do: 'report' }] },
      },
      {
        id: 'emails',
        name: 'E-mails',
        dependencies: ['prices'],
        script: {
          steps: [
            { do: 'say', text: '\u001b[31mFAIL\u001b[0m the template does not render' },
            { do: 'fail', class: 'invalid', message: 'the template of the e-mail does not render' },
          ],
        },
      },
      {
        id: 'search',
        name: 'Search index',
        script: {
          steps: [
            { do: 'say', text: 'Indexing the catalogue.' },
            { do: 'call', operation: 'listPlans' },
            { do: 'use', tokens: 31_000, usd: 0.4 },
            { do: 'work', ms: LONG },
          ],
        },
      },
      {
        id: 'release',
        name: 'Release notes',
        dependencies: ['receipts', 'search'],
        script: { steps: [{ do: 'report' }] },
      },
    ],
  });
  await house.plan(
    {
      name: 'Upgrade the build',
      tasks: [{ id: 'bundler', name: 'Bundler', script: { steps: [{ do: 'report' }] } }],
    },
    false,
  );
  const byKey = new Map(checkout.tasks.map(({ task }) => [task.key, task.id]));
  const id = (key: string): TaskId => byKey.get(key) ?? 'task_none';
  const state = async (key: string): Promise<string> => (await client.getTask(id(key))).task.state;
  await until(async () => (await state('vouchers')) === 'waiting');
  await until(async () => (await client.inbox()).length > 0);
  await until(async () => (await state('emails')) === 'failed');
  await until(async () => (await state('search')) === 'running');
  return { client, checkout, id };
}
