import type { ComponentChildren } from 'preact';
import { ActButton } from './acts/buttons.tsx';
import { Asking } from './acts/ask.tsx';
import { Notes } from './acts/perform.tsx';
import { START_ONE, STOP_ALL } from './acts/everywhere.ts';
import { overlay } from './keys.ts';
import { link } from './link/api.ts';
import { Overlays } from './palette.tsx';
import { Menu } from './parts/menu.tsx';
import { narrow } from './parts/narrow.ts';
import { PlanState } from './parts/state.tsx';
import { Ago } from './parts/time.tsx';
import { href, route } from './router.ts';
import { store } from './store/store.ts';
import { summary } from './store/summary.ts';
import { nextTheme, theme } from './theme.ts';
import { View } from './views/view.tsx';

const PLACES = [
  ['', 'Now'],
  ['inbox', 'Inbox'],
  ['plans', 'Plans'],
  ['tree', 'Tree'],
  ['activity', 'Activity'],
  ['costs', 'Costs and host'],
] as const;

const MOST_PLANS = 8;
/** On a phone the others are in the menu. */
const IN_BAR = 3;

export function Shell() {
  const { state } = link.value;
  if (state === 'refused') return <LetIn why={link.value.why} />;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the content
      </a>
      <Side />
      <main class="main scroll" id="main" tabIndex={-1}>
        <Connection />
        {store.version.value === 0 ? <Loading /> : <View />}
      </main>
      <Notes />
      <Asking />
      <Overlays />
    </div>
  );
}

const Loading = () => (
  <p class="loading" role="status">
    Reading what there is …
  </p>
);

function Places({ places, label }: { places: readonly (typeof PLACES)[number][]; label: string }) {
  const [at = ''] = route.value;
  const { requests } = summary();
  return (
    <nav class="nav" aria-label={label}>
      {places.map(([place, name]) => (
        <a key={place} href={href(`/${place}`)} aria-current={place === at ? 'page' : undefined}>
          {name}
          {place === 'inbox' && requests.length > 0 ? <Waiting n={requests.length} /> : null}
        </a>
      ))}
    </nav>
  );
}

function Side() {
  return (
    <aside class="side">
      <a class="brand" href={href('/')} aria-label="Reveille, to Now">
        <img src={new URL('./style/icon.svg', import.meta.url).href} alt="" width="22" height="22" /> Reveille
      </a>
      <Places places={narrow.value ? PLACES.slice(0, IN_BAR) : PLACES} label="Views" />
      {narrow.value ? (
        <>
          <LinkDot />
          <Menu label="Menu">
            <Places places={PLACES.slice(IN_BAR)} label="More views" />
            <SidePlans />
            <SideFoot />
          </Menu>
        </>
      ) : (
        <>
          <SidePlans />
          <SideFoot>
            <LinkDot />
          </SideFoot>
        </>
      )}
    </aside>
  );
}

function SidePlans() {
  const { openPlans } = summary();
  return (
    <div class="side-plans">
      <h2 class="side-title">Plans</h2>
      {openPlans.slice(0, MOST_PLANS).map((plan) => (
        <a
          key={plan.id}
          class="side-plan"
          href={href(`/plan/${plan.id}`)}
          aria-current={route.value[1] === plan.id ? 'page' : undefined}
        >
          <span class="side-plan-name">{plan.name}</span>
          <PlanState plan={plan} />
        </a>
      ))}
      <a class="side-new" href={href('/new')}>
        Write a plan
      </a>
      <ActButton act={START_ONE} target={null} name="" />
    </div>
  );
}

const SideFoot = ({ children }: { children?: ComponentChildren }) => (
  <div class="side-foot">
    {children}
    <button type="button" class="plain" onClick={() => (overlay.value = 'palette')} title="Ctrl K">
      Search
    </button>
    <button type="button" class="plain" onClick={nextTheme} title="Light, dark, or as the system">
      Theme: {theme.value === 'system' ? 'auto' : theme.value}
    </button>
    <button type="button" class="plain" onClick={() => (overlay.value = 'help')} title="?">
      Keys
    </button>
    <ActButton act={STOP_ALL} target={null} name="all plans and tasks" />
  </div>
);

const Waiting = ({ n }: { n: number }) => (
  <span class="waiting">
    {n}
    <span class="unseen"> waiting</span>
  </span>
);

const LINK_WORDS = { connecting: 'connecting', live: 'live', offline: 'offline', refused: '' } as const;

const LinkDot = () => (
  <span class={`link link-${link.value.state}`} role="status" data-link={link.value.state}>
    <span class="link-word">{LINK_WORDS[link.value.state]}</span>
    <span class="link-number" title="number of the last event">
      #{store.version.value > 0 ? store.event.toLocaleString('en') : '…'}
    </span>
  </span>
);

/** What is shown may be old: said above it, until it is not. */
function Connection() {
  const now = link.value;
  if (now.state !== 'offline') return null;
  return (
    <div class="banner" role="alert">
      The daemon does not answer since <Ago at={now.since} />. What you see is as of then; the page goes on by
      itself when it is back. Any command starts it: <code>reveille status</code>
    </div>
  );
}

function LetIn({ why }: { why: string }) {
  return (
    <Centre>
      <h1>This browser is not let in</h1>
      <p>{why}</p>
      <p>
        On the command line: <code>reveille dashboard</code>
      </p>
    </Centre>
  );
}

const Centre = ({ children }: { children: ComponentChildren }) => (
  <main class="centre" id="main">
    {children}
  </main>
);
