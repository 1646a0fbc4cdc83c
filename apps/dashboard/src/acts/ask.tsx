import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../link/api.ts';
import type { Act, Field, Option, Said } from './act.ts';

interface Question {
  readonly title: string;
  readonly text: string | null;
  readonly act: Pick<Act<unknown>, 'label' | 'harm' | 'check'>;
  readonly fields: readonly Asked[];
  readonly answer: (said: Said | null) => void;
}
interface Asked extends Field<unknown> {
  /** What there is to choose from. */
  readonly options: () => Promise<readonly Option[]>;
}

const asking = signal<Question | null>(null);

/** What has to be known before; null: it is left. */
export function ask<T>(act: Act<T>, target: T, name: string): Promise<Said | null> {
  return new Promise((resolve) => {
    asking.value = {
      title: name === '' ? act.label : `${act.label}: ${name}`,
      text: act.confirm?.(target) ?? null,
      act,
      fields: (act.fields ?? []).map(({ among, ...field }) => ({
        ...field,
        options: async () => (among ? among(api(), target) : []),
      })),
      answer: (said) => {
        asking.value = null;
        resolve(said);
      },
    };
  });
}

export function Asking() {
  const now = asking.value;
  return now ? <Dialog key={now.title} {...now} /> : null;
}

function Dialog({ title, text, act, fields, answer }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
    form.current?.querySelector<HTMLElement>('textarea, input, select')?.focus();
  }, []);
  const done = (event: Event): void => {
    event.preventDefault();
    const said = saidIn(form.current);
    const missing = fields.find(({ name, needed }) => needed && said[name] === '');
    if (missing) return form.current?.querySelector<HTMLElement>(`[name="${missing.name}"]`)?.focus();
    const problem = act.check?.(said) ?? null;
    setWrong(problem);
    if (problem === null) answer(said);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="ask-title" onClose={() => answer(null)}>
      <form ref={form} onSubmit={done}>
        <h2 id="ask-title">{title}</h2>
        {text === null ? null : <p>{text}</p>}
        {fields.map((field) => (
          <AskedField key={field.name} field={field} done={done} />
        ))}
        {wrong === null ? null : (
          <p class="bad" role="alert">
            {wrong}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={() => answer(null)}>
            Leave it
          </button>
          <button
            type="submit"
            class={`button ${act.harm ? 'harm' : 'first'}`}
            autofocus={fields.length === 0 && !act.harm}
          >
            {act.label}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function saidIn(form: HTMLFormElement | null): Said {
  const data = form ? [...new FormData(form)] : [];
  return Object.fromEntries(
    data.map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']),
  );
}

function AskedField({ field, done }: { field: Asked; done: (event: Event) => void }) {
  const { name, label, long, hint, only } = field;
  const [options, setOptions] = useState<readonly Option[]>([]);
  useEffect(() => void field.options().then(setOptions, () => undefined), []);
  return (
    <label class="field">
      {label}
      {long ? (
        <textarea
          name={name}
          rows={4}
          placeholder={hint}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) done(event);
          }}
        />
      ) : null}
      {only ? (
        <select name={name}>
          <option value="">the newest</option>
          {options.map(({ value, label: words }) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      ) : null}
      {long || only ? null : (
        <>
          <input name={name} placeholder={hint} autocomplete="off" list={`among-${name}`} />
          <datalist id={`among-${name}`}>
            {options.map(({ value }) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        </>
      )}
    </label>
  );
}
