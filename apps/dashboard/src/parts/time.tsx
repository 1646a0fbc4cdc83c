import { signal } from '@preact/signals';

/** Ticks by itself: what is relative to now changes although nothing happens. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1_000);

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** `3m`, `2h 5m`: two parts at most, and of hours no seconds. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  if (at === -1) return '0s';
  const [unit, size] = UNITS[at] ?? UNITS[3];
  const whole = Math.floor(seconds / size);
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((seconds % size) / next[1]) : 0;
  return next && rest > 0 && whole < 10 && unit !== 'm'
    ? `${whole}${unit} ${rest}${next[0]}`
    : `${whole}${unit}`;
}

/** How long ago; the exact time when it is pointed at, and for those who listen. */
export const Ago = ({ at, suffix = '' }: { at: number; suffix?: string }) => {
  const exact = new Date(at);
  return (
    <time class="ago" dateTime={exact.toISOString()} title={exact.toLocaleString()}>
      {duration(now.value - at)}
      {suffix}
    </time>
  );
};

export const Clock = ({ at }: { at: number }) => {
  const exact = new Date(at);
  return (
    <time class="ago" dateTime={exact.toISOString()} title={exact.toLocaleString()}>
      {exact.toTimeString().slice(0, 8)}
    </time>
  );
};
