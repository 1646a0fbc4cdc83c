import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api } from '../link/api.ts';
import { clean } from '../parts/clean.ts';
import type { Act } from './table.ts';

interface Asking {
  readonly title: string;
  readonly text: string | null;
  readonly words: Act<unknown>['words'];
  readonly harm: boolean;
  readonly label: string;
  readonly answer: (words: string | null) => void;
}
interface Note {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
}

const asking = signal<Asking | null>(null);
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
  const words = act.confirm || act.words ? await ask(act, target, name) : '';
  if (words === null) return;
  await attempt(`${act.id} ${name}`, () => act.run(api(), target, words));
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

function ask<T>(act: Act<T>, target: T, name: string): Promise<string | null> {
  return new Promise((resolve) => {
    asking.value = {
      title: `${act.label}: ${name}`,
      text: act.confirm?.(target) ?? null,
      words: act.words,
      harm: act.harm ?? false,
      label: act.label,
      answer: (words) => {
        asking.value = null;
        resolve(words);
      },
    };
  });
}

export function Asked() {
  const now = asking.value;
  return now ? <AskDialog key={now.title} {...now} /> : null;
}

function AskDialog({ title, text, words, harm, label, answer }: Asking) {
  const dialog = useRef<HTMLDialogElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    box.current?.focus();
  }, []);
  const done = (event: Event): void => {
    event.preventDefault();
    const said = box.current?.value.trim() ?? '';
    if (words?.needed && said === '') return box.current?.focus();
    answer(said);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="ask-title" onClose={() => answer(null)}>
      <form onSubmit={done}>
        <h2 id="ask-title">{title}</h2>
        {text === null ? null : <p>{text}</p>}
        {words ? (
          <label class="field">
            {words.label}
            <textarea
              ref={box}
              rows={4}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) done(event);
              }}
            />
          </label>
        ) : null}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={() => answer(null)}>
            Leave it
          </button>
          <button type="submit" class={`button ${harm ? 'harm' : 'first'}`} autofocus={!words && !harm}>
            {label}
          </button>
        </div>
      </form>
    </dialog>
  );
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
