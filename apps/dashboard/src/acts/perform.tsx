import { signal } from '@preact/signals';
import { api } from '../link/api.ts';
import { clean } from '../parts/clean.ts';
import type { Act } from './act.ts';
import { ask } from './ask.tsx';

interface Note {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
}

const notes = signal<readonly Note[]>([]);
/** What is under way: its button waits for the daemon. */
export const under = signal<ReadonlySet<string>>(new Set());

const NOTE_MS = 8_000;
let noteId = 0;

export function say(text: string, bad = false): void {
  const id = ++noteId;
  notes.value = [...notes.value, { id, text: clean(text), bad }].slice(-4);
  setTimeout(() => (notes.value = notes.value.filter((note) => note.id !== id)), bad ? NOTE_MS * 2 : NOTE_MS);
}

/** Asks what has to be asked, makes the call, and says what the daemon answered. */
export async function perform<T>(act: Act<T>, target: T, name: string): Promise<void> {
  const said = act.confirm || act.fields ? await ask(act, target, name) : {};
  if (said === null) return;
  await attempt(`${act.id} ${name}`, () => act.run(api(), target, said));
}

export async function attempt(what: string, call: () => Promise<string>): Promise<boolean> {
  under.value = new Set([...under.value, what]);
  try {
    say(await call());
    return true;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
    return false;
  } finally {
    under.value = new Set([...under.value].filter((other) => other !== what));
  }
}

export const Notes = () => (
  <div class="notes" role="status" aria-live="polite">
    {notes.value.map(({ id, text, bad }) => (
      <div key={id} class={`note ${bad ? 'note-bad' : ''}`}>
        <span>{text}</span>
        <button
          type="button"
          class="plain"
          aria-label="Dismiss"
          onClick={() => (notes.value = notes.value.filter((note) => note.id !== id))}
        >
          ×
        </button>
      </div>
    ))}
  </div>
);
