import type { Paint } from '../ansi.ts';
import { drawFrame as drawPlan, type Size } from '../view/frame.ts';
import type { Row as PlanRow } from '../view/picture.ts';
import type { Picture, Row } from './picture.ts';

const SUBTITLE = 'scripted agents on the real engine, in real worktrees of a real repository';

/** The demo, as any plan is shown. */
export function drawFrame(picture: Picture, size: Size & { last?: boolean }, paint: Paint): string[] {
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
  return drawPlan(shown, { ...size, now: elapsed, subtitle: SUBTITLE }, paint);
}

const toRow = ({ task, depth, last, ...rest }: Row): PlanRow => ({
  ...rest,
  id: task,
  branch: depth === 0 ? '' : last ? '└ ' : '├ ',
});
