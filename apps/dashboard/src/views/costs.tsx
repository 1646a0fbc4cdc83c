import { useEffect, useState } from 'preact/hooks';
import type { HostView, TaskRow } from '@reveille/protocol';
import { api } from '../link/api.ts';
import { bytes, money, plural, tokens } from '../parts/amounts.ts';
import { Empty, Section } from '../parts/pieces.tsx';
import { Ago } from '../parts/time.tsx';
import { href } from '../router.ts';
import { store } from '../store/store.ts';
import { planOf, summary } from '../store/summary.ts';

const HOST_MS = 3_000;

/** What was used, by plan and by agent; and how the machine is. */
export function Costs() {
  const all = summary();
  const { tokens: allTokens, usd, estimated } = all;
  const rows = [...store.rows.values()];
  const byPlan = Map.groupBy(rows, (row) => planOf(all, row));
  const plans = [...store.plans.values()].map((plan) => ({
    name: plan.name,
    to: `/plan/${plan.id}`,
    rows: byPlan.get(plan.id) ?? [],
  }));
  const alone = byPlan.get(null) ?? [];
  const byAgent = Map.groupBy(rows, ({ agent }) => agent);
  return (
    <>
      <h1>Costs and host</h1>
      <Host running={all.byColumn.working.length} tokens={allTokens} usd={usd} estimated={estimated} />
      <Section title="By plan">
        <Uses
          of={[...plans, ...(alone.length > 0 ? [{ name: 'Outside of plans', to: null, rows: alone }] : [])]}
        />
      </Section>
      <Section title="By agent">
        <Uses of={[...byAgent].map(([name, its]) => ({ name, to: null, rows: its }))} />
      </Section>
      <p class="quiet">
        Of the latest run of each task. What a backend does not report is shown as –, not as nothing.
      </p>
    </>
  );
}

interface Use {
  readonly name: string;
  readonly to: string | null;
  readonly rows: readonly TaskRow[];
}

const MOST = 50;

function Uses({ of }: { of: readonly Use[] }) {
  const summed = of
    .map((use) => ({
      ...use,
      tokens: use.rows.reduce((sum, { run }) => sum + (run?.tokens ?? 0), 0),
      estimated: use.rows.some(({ run }) => run?.estimated),
      usd: use.rows.reduce((sum, { run }) => sum + (run?.usd ?? 0), 0),
      runs: use.rows.reduce((sum, { attempts }) => sum + attempts, 0),
      peak: use.rows.reduce((most, { run }) => Math.max(most, run?.resources?.peakBytes ?? 0), 0),
    }))
    .toSorted((a, b) => b.usd - a.usd || b.tokens - a.tokens)
    .slice(0, MOST);
  const most = Math.max(1, ...summed.map((use) => use.tokens));
  if (summed.length === 0) return <Empty title="Nothing has been used yet." />;
  return (
    <table class="uses">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Tasks</th>
          <th scope="col">Runs</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
          <th scope="col">Memory, at most</th>
        </tr>
      </thead>
      <tbody>
        {summed.map((use) => (
          <tr key={use.to ?? use.name}>
            <th scope="row">
              {use.to ? (
                <a href={href(use.to)} data-item>
                  {use.name}
                </a>
              ) : (
                use.name
              )}
            </th>
            <td>{use.rows.length.toLocaleString('en')}</td>
            <td>{use.runs.toLocaleString('en')}</td>
            <td class="uses-bar">
              <span class="bar" style={{ width: `${(use.tokens / most) * 100}%` }} />
              {tokens(use.tokens, use.estimated)}
            </td>
            <td>{money(use.usd, use.estimated)}</td>
            <td>{use.peak > 0 ? bytes(use.peak) : '–'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Host(all: { running: number; tokens: number; usd: number; estimated: boolean }) {
  const { running, tokens: used, usd, estimated } = all;
  const [host, setHost] = useState<HostView | null>(null);
  useEffect(() => {
    const look = (): void =>
      void api()
        .views.host()
        .then(setHost, () => undefined);
    look();
    const timer = setInterval(look, HOST_MS);
    return () => clearInterval(timer);
  }, []);
  const memory = host && { used: host.memory.total - host.memory.free, total: host.memory.total };
  return (
    <dl class="figures">
      <Figure name="Cost" value={money(usd, estimated)} />
      <Figure name="Tokens" value={tokens(used, estimated)} />
      <Figure name="At work" value={plural(running, 'agent')} />
      {host && memory ? (
        <>
          <Figure
            name="Memory of the host"
            value={`${bytes(memory.used)} of ${bytes(memory.total)}`}
            part={memory.used / memory.total}
          />
          <Figure
            name={`Load of ${plural(host.cpus, 'core')}`}
            value={host.load.map((load) => load.toFixed(1)).join(' ')}
            part={(host.load[0] ?? 0) / host.cpus}
          />
          <Figure name="Memory of the daemon" value={bytes(host.resident)} />
          {host.agents ? <Figure name="Memory of the agents" value={bytes(host.agents.rssBytes)} /> : null}
          <div class="figure">
            <dt>Daemon {host.version}, for</dt>
            <dd>
              <Ago at={host.startedAt} />
            </dd>
          </div>
        </>
      ) : null}
    </dl>
  );
}

const Figure = ({ name, value, part }: { name: string; value: string; part?: number }) => (
  <div class="figure">
    <dt>{name}</dt>
    <dd>{value}</dd>
    {part === undefined ? null : (
      <dd class="meter" aria-hidden="true">
        <span class={`bar ${part > 0.9 ? 'bar-bad' : ''}`} style={{ width: `${Math.min(1, part) * 100}%` }} />
      </dd>
    )}
  </div>
);
