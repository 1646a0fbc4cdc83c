import { signal } from '@preact/signals';
import { go } from './router.ts';

export const overlay = signal<'palette' | 'help' | null>(null);

const PLACES: Readonly<Record<string, string>> = {
  n: '/',
  i: '/inbox',
  p: '/plans',
  t: '/tree',
  a: '/activity',
  c: '/costs',
  e: '/new',
};

let leader = false;

/** The keyboard for everything. While somebody writes, only what cannot be text. */
export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      overlay.value = overlay.value === 'palette' ? null : 'palette';
      return;
    }
    if (event.key === 'Escape' && isWriting(event.target)) return void blur();
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    if (document.querySelector('dialog[open]')) return;
    if (handle(event.key)) event.preventDefault();
  });
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}

function handle(key: string): boolean {
  if (leader) {
    leader = false;
    const place = PLACES[key];
    if (place !== undefined) go(place);
    return place !== undefined;
  }
  switch (key) {
    case 'g':
      return (leader = true);
    case 'j':
    case 'ArrowDown':
      return move(1, key);
    case 'k':
    case 'ArrowUp':
      return move(-1, key);
    case '/':
      return focus('[data-filter]') || ((overlay.value = 'palette'), true);
    case '?':
      overlay.value = 'help';
      return true;
    case 'o':
      return press('[data-item]:focus');
    case '[':
    case ']':
      return nextTab(key === ']' ? 1 : -1);
    case 'Escape':
      return blur();
    default:
      return choose(key) || press(`[data-key="${CSS.escape(key)}"]`);
  }
}

/** To the next or the last of what can be opened. The arrows only if one has the focus: otherwise they scroll. */
function move(step: number, key: string): boolean {
  const items = [...document.querySelectorAll<HTMLElement>('main [data-item]')].toSorted(byPlace);
  const focused = document.activeElement?.closest<HTMLElement>('[data-item]') ?? null;
  if (key.startsWith('Arrow') && !focused) return false;
  const at = focused ? items.indexOf(focused) : -1;
  const next = items[at === -1 && step < 0 ? items.length - 1 : at + step];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
  return next !== undefined;
}

/** Rows of a long list lie where they are moved to, in whatever order they were drawn. */
const byPlace = (a: HTMLElement, b: HTMLElement): number => {
  const [one, other] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
  return one.top - other.top || one.left - other.left;
};

const focus = (what: string): boolean => {
  const found = document.querySelector<HTMLElement>(what);
  found?.focus();
  return found !== null;
};

const press = (what: string): boolean => {
  const found = document.querySelector<HTMLElement>(what);
  found?.click();
  return found !== null;
};

/** A number answers the request that has the focus, or the only one there is. */
function choose(key: string): boolean {
  if (!/^[1-9]$/.test(key)) return false;
  const cards = document.querySelectorAll('[data-request]');
  const card = document.activeElement?.closest('[data-request]') ?? (cards.length === 1 ? cards[0] : null);
  const button = card?.querySelector<HTMLElement>(`[data-choice="${key}"]`);
  button?.click();
  return button !== undefined && button !== null;
}

function nextTab(step: number): boolean {
  const tabs = [...document.querySelectorAll<HTMLElement>('.tabs a')];
  const at = tabs.findIndex((tab) => tab.ariaCurrent === 'page');
  const next = tabs[(at + step + tabs.length) % tabs.length];
  next?.click();
  return next !== undefined;
}

function blur(): boolean {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  return true;
}

export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['j k', 'next, previous'],
  ['Enter o', 'open'],
  ['[ ]', 'previous, next part of what is shown'],
  ['1 … 9', 'answer with that choice'],
  ['/', 'filter, or search everything'],
  ['Ctrl K', 'go anywhere, do anything'],
  ['g n', 'Now'],
  ['g i', 'Inbox'],
  ['g p', 'Plans'],
  ['g t', 'Tree'],
  ['g a', 'Activity'],
  ['g c', 'Costs and host'],
  ['g e', 'write a plan'],
  ['s r p m x', 'start, retry, pause or resume, message, cancel what is shown'],
  ['.', 'what else can be done with it'],
  ['c', 'start one task'],
  ['Ctrl Enter', 'send, save and start'],
  ['Esc', 'leave'],
];
