import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Drawn anew when so much has been scrolled, and as much more than can be seen. */
const TILE = 400;

/** Which part of a scrolling box can be seen, in tiles. */
export function useSeen(box: RefObject<HTMLElement | null>): Area {
  const [seen, setSeen] = useState<Area>({ left: 0, top: 0, right: 4 * TILE, bottom: 4 * TILE });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = (): void => {
      const { scrollLeft, scrollTop, clientWidth, clientHeight } = element;
      const left = (Math.floor(scrollLeft / TILE) - 1) * TILE;
      const top = (Math.floor(scrollTop / TILE) - 1) * TILE;
      const right = (Math.ceil((scrollLeft + clientWidth) / TILE) + 1) * TILE;
      const bottom = (Math.ceil((scrollTop + clientHeight) / TILE) + 1) * TILE;
      setSeen((known) =>
        known.left === left && known.top === top && known.right === right && known.bottom === bottom
          ? known
          : { left, top, right, bottom },
      );
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      resized.disconnect();
    };
  }, []);
  return seen;
}
