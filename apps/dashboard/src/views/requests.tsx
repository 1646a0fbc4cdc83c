import { useState } from 'preact/hooks';
import { ONLY_CHOICES, choicesOf, isOwnWords, type Choice, type Request } from '@reveille/protocol';
import { attempt, under } from '../acts/perform.tsx';
import { api } from '../link/api.ts';
import { oneLine } from '../parts/clean.ts';
import { Prose } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { go, href } from '../router.ts';
import { store } from '../store/store.ts';

const KINDS: Readonly<Record<Request['kind'], string>> = {
  question: 'asks',
  approval: 'needs approval',
  review: 'has work to review',
  idle: 'is silent',
  failure: 'has failed',
  escape: 'left its worktree',
  plan: 'wants to start a plan',
  conflict: 'does not merge',
  budget: 'has used up its budget',
};

/** An agent's own words promise nothing; an action is what would be done. */
function kindWords(request: Request): string {
  if (isOwnWords(request)) return 'asks for approval in its own words';
  if (!request.action) return KINDS[request.kind];
  return request.action.command === null ? `wants to use ${request.action.tool}` : 'wants to run a command';
}

/** A request for leave without choices of its own has the usual two. */
const offered = (request: Request): readonly Choice[] =>
  request.kind === 'approval' && request.options.length === 0
    ? choicesOf({ ...request, options: ['approved', 'denied'] })
    : choicesOf(request);

/** Words mean something if they are an answer, or say more about a choice. */
const takesWords = (request: Request): boolean =>
  !ONLY_CHOICES.has(request.kind) || offered(request).some(({ takes }) => takes !== undefined);

const HARM = /^(deny|denied|reject|cancel|no)\b/i;

/** Something that waits for the person, with what they can answer. It goes when the daemon has taken the answer. */
export function RequestCard({ request }: { request: Request }) {
  const row = store.rows.get(request.task);
  const busy = under.value.has(request.id);
  const [words, setWords] = useState('');
  const answer = (text: string): Promise<void> => answerWith(request, text);
  const choose = ({ id, takes }: Choice): void => {
    // A look is no answer.
    if (id === 'details') go(`/task/${request.task}`);
    else void answer(takes !== undefined && words.trim() !== '' ? `${id} ${words.trim()}` : id);
  };
  return (
    <article
      class="request"
      tabIndex={0}
      data-item
      data-request={request.id}
      aria-label={`${row?.name ?? ''} ${kindWords(request)}`}
    >
      <header class="request-head">
        <a class="request-task" href={href(`/task/${request.task}`)}>
          {row?.name ?? request.task}
        </a>
        <span class="request-kind">{kindWords(request)}</span>
        <span class="request-agent">{row?.agent ?? ''}</span>
        <Ago at={request.at} suffix=" ago" />
      </header>
      <Prose text={request.text} />
      <div class="request-choices">
        {offered(request).map((choice, i) => (
          <button
            key={choice.id}
            type="button"
            class={`button ${i === 0 ? 'first' : ''} ${HARM.test(choice.id) ? 'harm' : ''}`}
            disabled={busy}
            title={choice.takes === undefined ? choice.label : `${choice.label}: ${choice.takes}`}
            data-choice={i + 1}
            onClick={() => choose(choice)}
          >
            <kbd>{i + 1}</kbd> {oneLine(choice.id, 80)}
          </button>
        ))}
        {takesWords(request) ? (
          <Words {...{ request, busy, words, setWords }} answer={() => void answer(words)} />
        ) : null}
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
  readonly request: Request;
  readonly busy: boolean;
  readonly words: string;
  readonly setWords: (words: string) => void;
  readonly answer: () => void;
}

function Words({ request, busy, words, setWords, answer }: WordsProps) {
  const { kind } = request;
  const alone = !ONLY_CHOICES.has(kind);
  const more = offered(request).find(({ takes }) => takes !== undefined);
  const usual = kind === 'review' ? 'What should be different' : 'Answer in your own words';
  const label = alone || !more ? usual : `For ${more.id}: ${more.takes}`;
  const send = (event: Event): void => {
    event.preventDefault();
    if (alone && words.trim() !== '') answer();
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
      {alone ? (
        <button type="submit" class="button" disabled={busy || words.trim() === ''}>
          Send
        </button>
      ) : null}
    </form>
  );
}
