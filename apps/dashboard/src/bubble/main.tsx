import { render } from 'preact';
import { Bubble, type BubbleAct, type BubbleData } from './bubble.tsx';
import '../style/tokens.css';
import './bubble.css';

/**
 * The bubble by itself, in a frame of whoever shows it: it is told what to show by messages of the page round it, and says
 * what the person wants by messages to it. It loads nothing and asks nobody.
 *
 *   in:  { reveille: 'bubble', bubble: BubbleData }
 *   out: { reveille: 'ready' }, { reveille: 'act', act: 'retry' | 'cancel' }
 */
const root = document.body;
const say = (message: object): void => parent.postMessage({ reveille: '', ...message }, '*');
const act = (wanted: BubbleAct): void => say({ reveille: 'act', act: wanted });

addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
  if (source !== parent || typeof data !== 'object' || data === null) return;
  const { reveille, bubble } = data as { reveille?: unknown; bubble?: unknown };
  if (reveille === 'bubble' && isBubble(bubble)) render(<Bubble bubble={bubble} act={act} />, root);
});
say({ reveille: 'ready' });

const TEXTS = ['task', 'agent', 'state', 'why'] as const;

/** The page round it may be anybody's: what is not text is not shown. */
function isBubble(value: unknown): value is BubbleData {
  if (typeof value !== 'object' || value === null) return false;
  const found = value as Record<string, unknown>;
  return (
    TEXTS.every((key) => typeof found[key] === 'string') &&
    (found['doing'] === null || typeof found['doing'] === 'string') &&
    Array.isArray(found['facts']) &&
    found['facts'].every((fact) => typeof fact === 'string') &&
    typeof found['done'] === 'number' &&
    typeof found['of'] === 'number'
  );
}
