import type { Run } from '@reveille/protocol';
import { estimatedPrice, moneyNodes, reserve, shortWords } from './budget.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import { held } from './holding.ts';
import type { Reservation, StartSpec } from './ports/executor.ts';
import type { Tx } from './tx.ts';
import { knownAmount } from './usage.ts';

/** The `reserve` of a run's executor. It is handed to the executor alone: no operation and no token leads here. */
export const reservationsOf =
  (context: Context, run: Pick<Run, 'id' | 'epoch'>): StartSpec['reserve'] =>
  async (id, most) => {
    const why = await decide(context, (tx) => reserveFor(tx, context, { run, id, most }));
    return why === null ? { granted: true } : { granted: false, why };
  };

/** A number that cannot be counts as one call. Which budget has no room is written down with the run: it will end of it. */
async function reserveFor(
  tx: Tx,
  { settings }: Context,
  { run: { id: runId, epoch }, id, most }: { run: Pick<Run, 'id' | 'epoch'>; id: string; most: Reservation },
): Promise<string | null> {
  const rows = await held(tx, runId, epoch);
  if (!rows) return 'the run is over';
  const { run, task } = rows;
  if (!task.budget) return null;
  const [money] = most.usd === undefined ? await moneyNodes(tx, task.budget) : [];
  const rate = money ? estimatedPrice(settings) : null;
  const tokens = knownAmount(most.tokens) ?? settings.budgets.callTokens;
  const usd = knownAmount(most.usd) ?? (rate === null ? undefined : tokens * rate);
  const short =
    money && settings.budgets.unpriced === 'stop'
      ? ({
          node: money.id,
          key: 'unpriced',
          total: tokens,
          limit: money.limits.usd ?? 0,
          over: false,
        } as const)
      : await reserve(tx, task.budget, `${runId}/${id}`, usd === undefined ? { tokens } : { tokens, usd });
  if (!short) return null;
  tx.put('run', { ...run, short });
  return shortWords(short);
}
