import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';

interface Props<T> {
  readonly items: readonly T[];
  readonly height: number;
  readonly label: string;
  readonly keyOf: (item: T) => string | number;
  readonly children: (item: T, index: number) => ComponentChildren;
  /** Says which items are drawn. */
  readonly seen?: (items: readonly T[]) => void;
}

const MORE = 8;

/** A long list of rows of one height, of which only those are drawn that can be seen in the scrolling box round it. */
export function Virtual<T>({ items, height, label, keyOf, children, seen }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [{ first, count }, setRange] = useState({ first: 0, count: 30 });
  useLayoutEffect(() => {
    const element = box.current;
    const scroller = element?.closest('.scroll');
    if (!element || !scroller) return undefined;
    const look = (): void => {
      const above = scroller.getBoundingClientRect().top - element.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(above / height) - MORE);
      const shown = Math.ceil(scroller.clientHeight / height) + 2 * MORE;
      setRange((known) =>
        known.first === from && known.count === shown ? known : { first: from, count: shown },
      );
    };
    look();
    scroller.addEventListener('scroll', look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(scroller);
    return () => {
      scroller.removeEventListener('scroll', look);
      resized.disconnect();
    };
  }, [height]);
  const from = Math.min(first, Math.max(0, items.length - 1));
  const drawn = items.slice(from, from + count);
  useLayoutEffect(() => seen?.(drawn));
  return (
    <div
      class="virtual"
      ref={box}
      role="list"
      aria-label={label}
      style={{ height: `${items.length * height}px` }}
    >
      {drawn.map((item, i) => (
        <div
          class="virtual-row"
          role="listitem"
          key={keyOf(item)}
          aria-setsize={items.length}
          aria-posinset={from + i + 1}
          style={{ height: `${height}px`, transform: `translateY(${(from + i) * height}px)` }}
        >
          {children(item, from + i)}
        </div>
      ))}
    </div>
  );
}
