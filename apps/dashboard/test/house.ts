import { connect } from '@reveille/daemon/connect';
import { withScript, type WrittenScript } from '@reveille/executors';
import type { Client, PlanInput, PlanView } from '@reveille/protocol';
import { OwnHouse, WAIT_MS } from '../../../test/house.ts';

export { until } from '../../../test/house.ts';

const SHOP = {
  'README.md': '# A shop\n',
  'src/cart.ts': 'export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0);\n',
};

/** Of a person in front of a browser. */
export class House extends OwnHouse {
  constructor(env: NodeJS.ProcessEnv = {}) {
    super(SHOP, env);
  }

  connect(): Promise<Client> {
    return connect({ env: this.env, waitMs: WAIT_MS });
  }

  /** The address that lets one browser in. */
  async invitation(): Promise<string> {
    const client = await this.connect();
    const { url } = await this.running();
    return `${url}/dashboard/#ticket=${await client.pageTicket()}`;
  }

  /** A plan whose tasks do what their scripts say. */
  async plan(plan: Omit<PlanInput, 'tasks'> & { tasks: ScriptedTask[] }, start = true): Promise<PlanView> {
    const tasks = plan.tasks.map(({ script, ...task }) => ({
      agent: 'scripted:agent',
      ...task,
      prompt: withScript(task.prompt ?? `Do ${task.id}.`, script),
    }));
    return (await this.connect()).savePlan({ integrate: false, ...plan, tasks }, { start });
  }
}

type ScriptedTask = Omit<PlanInput['tasks'][number], 'prompt'> & { prompt?: string; script: WrittenScript };
