import type { Paint } from '../ansi.ts';
import { drawFrame as drawPlan, type Size } from '../view/frame.ts';
import type { Row as PlanRow } from '../view/picture.ts';
import type { Picture, Row } from './picture.ts';

const WHERE = 'on the real engine, in real worktrees of a real repository';

interface DemoSize extends Size {
  readonly last?: boolean;
  /** The vendor whose agents run the plan; null: they are scripted. */
  readonly backend: string | null;
}

/** The demo, as any plan is shown. */
export function drawFrame(picture: Picture, { backend, ...size }: DemoSize, paint: Paint): string[] {
  const { plan, rows, elapsed, wakeUps } = picture;
  const shown = {
    title: plan.name,
    state: plan.state,
    why: plan.why,
    elapsed,
    used: { tokens: 0, usd: 0 },
    rows: rows.map(toRow),
    wakeUps,
    requests: [],
  };
  const subtitle = backend === null ? `scripted agents ${WHERE}` : `${backend} on a scripted model, ${WHERE}`;
  return drawPlan(shown, { ...size, now: elapsed, subtitle }, paint);
}

const toRow = ({ task, depth, last, ...rest }: Row): PlanRow => ({
  ...rest,
  id: task,
  branch: depth === 0 ? '' : last ? '└ ' : '├ ',
});
