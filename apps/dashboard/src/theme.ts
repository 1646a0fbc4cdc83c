import { signal } from '@preact/signals';

export type Theme = 'light' | 'dark' | 'system';
const KEPT = 'reveille.theme';

export const theme = signal<Theme>('system');

export function setTheme(wanted: Theme): void {
  theme.value = wanted;
  localStorage.setItem(KEPT, wanted);
  document.documentElement.dataset['theme'] = wanted;
}

export function restoreTheme(): void {
  const kept = localStorage.getItem(KEPT);
  setTheme(kept === 'light' || kept === 'dark' ? kept : 'system');
}

export const nextTheme = (): void =>
  setTheme(({ system: 'light', light: 'dark', dark: 'system' } as const)[theme.peek()]);
