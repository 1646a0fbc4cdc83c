import { useState } from 'preact/hooks';
import type { Request } from '@reveille/protocol';
import { attempt, under } from '../acts/perform.tsx';
import { api } from '../link/api.ts';
import { oneLine } from '../parts/clean.ts';
import { Prose } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { href } from '../router.ts';
import { store } from '../store/store.ts';

const KINDS: Readonly<Record<Request['kind'], string>> = {
  question: 'asks',
  approval: 'wants leave',
  review: 'has work to review',
  idle: 'is silent',
  failure: 'has failed',
  escape: 'left its worktree',
};

/** These mean something else than words: anything that is not one of the choices would do nothing. */
const onlyChoices = ({ kind, options }: Request): boolean =>
  options.length > 0 && (kind === 'idle' || kind === 'escape' || kind === 'failure');

/** Of a request for leave without choices of its own. */
const choicesOf = ({ kind, options }: Request): readonly string[] =>
  kind === 'approval' && options.length === 0 ? ['approved', 'denied'] : options;

const HARM = /^(deny|denied|reject|cancel|no)\b/i;

/** Something that waits for the person, with what they can answer. It goes when the daemon has taken the answer. */
export function RequestCard({ request }: { request: Request }) {
  const row = store.rows.get(request.task);
  const busy = under.value.has(request.id);
  const answer = (text: string): Promise<void> => answerWith(request, text);
  return (
    <article
      class="request"
      tabIndex={0}
      data-item
      data-request={request.id}
      aria-label={`${row?.name ?? ''} ${KINDS[request.kind]}`}
    >
      <header class="request-head">
        <a class="request-task" href={href(`/task/${request.task}`)}>
          {row?.name ?? request.task}
        </a>
        <span class="request-kind">{KINDS[request.kind]}</span>
        <span class="request-agent">{row?.agent ?? ''}</span>
        <Ago at={request.at} suffix=" ago" />
      </header>
      <Prose text={request.text} />
      <div class="request-choices">
        {choicesOf(request).map((option, i) => (
          <button
            key={option}
            type="button"
            class={`button ${i === 0 ? 'first' : ''} ${HARM.test(option) ? 'harm' : ''}`}
            disabled={busy}
            data-choice={i + 1}
            onClick={() => void answer(option)}
          >
            <kbd>{i + 1}</kbd> {oneLine(option, 80)}
          </button>
        ))}
        {onlyChoices(request) ? null : <Words kind={request.kind} busy={busy} answer={answer} />}
      </div>
    </article>
  );
}

async function answerWith({ id }: Request, text: string): Promise<void> {
  const taken = await attempt(id, async () => {
    await api().answer({ request: id, answer: text });
    return `Answered: ${oneLine(text, 80)}`;
  });
  if (!taken) return;
  store.inbox.delete(id);
  store.stale.inbox = true;
  store.version.value++;
}

interface WordsProps {
  readonly kind: Request['kind'];
  readonly busy: boolean;
  readonly answer: (text: string) => Promise<void>;
}

function Words({ kind, busy, answer }: WordsProps) {
  const [words, setWords] = useState('');
  const label = kind === 'review' ? 'What should be different' : 'Answer in your own words';
  const send = (event: Event): void => {
    event.preventDefault();
    if (words.trim() !== '') void answer(words);
  };
  return (
    <form class="request-words" onSubmit={send}>
      <textarea
        rows={1}
        aria-label={label}
        placeholder={label}
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey) send(event);
        }}
      />
      <button type="submit" class="button" disabled={busy || words.trim() === ''}>
        Send
      </button>
    </form>
  );
}
