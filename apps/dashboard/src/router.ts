import { computed, signal } from '@preact/signals';

const BASE = '/dashboard';

const path = signal(here());

/** `/plan/plan_1/board` as ['plan', 'plan_1', 'board']. */
export const route = computed(() => path.value.split('/').filter((part) => part !== ''));

function here(): string {
  return decodeURI(location.pathname.slice(BASE.length)) || '/';
}

export const href = (to: string): string => `${BASE}${to}`;

export function go(to: string): void {
  if (to === path.peek()) return;
  history.pushState(null, '', href(to));
  path.value = to;
  document.querySelector('.scroll')?.scrollTo(0, 0);
}

/** Links inside the page change what is shown, and nothing is loaded. */
export function listenToLinks(): void {
  addEventListener('popstate', () => (path.value = here()));
  addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a[href]');
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const to = link?.getAttribute('href') ?? '';
    if (!plain || event.defaultPrevented || !to.startsWith(`${BASE}/`)) return;
    event.preventDefault();
    go(to.slice(BASE.length));
  });
}
