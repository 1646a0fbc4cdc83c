import { useState } from 'preact/hooks';
import { choicesOf, isLook, isOwnWords, takesFreeText, type Choice, type Request } from '@reveille/protocol';
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

/** Words in the box belong to a choice that takes them, or are an answer of their own. */
const takesWords = (request: Request): boolean =>
  takesFreeText(request) || choicesOf(request).some(({ takes }) => takes !== undefined);

const HARM = /^(deny|denied|reject|cancel|no)\b/i;

/** Something that waits for the person, with what they can answer. It goes when the daemon has taken the answer. */
export function RequestCard({ request }: { request: Request }) {
  const row = store.rows.get(request.task);
  const plan = row?.plan ? store.plans.get(row.plan) : undefined;
  const busy = under.value.has(request.id);
  const [words, setWords] = useState('');
  const answer = (text: string): Promise<void> => answerWith(request, text);
  const choose = ({ id, takes }: Choice): void => {
    if (isLook(request, { id, rest: '' })) go(`/task/${request.task}`);
    else void answer(takes !== undefined && words.trim() !== '' ? `${id}: ${words.trim()}` : id);
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
        {plan ? (
          <a class="request-agent" href={href(`/plan/${plan.id}`)}>
            of {plan.name}
          </a>
        ) : null}
        <Ago at={request.at} suffix=" ago" />
      </header>
      <Prose text={request.text} />
      <div class="request-choices">
        {choicesOf(request).map((choice, i) => (
          <button
            key={choice.id}
            type="button"
            class={`button ${i === 0 ? 'first' : ''} ${HARM.test(choice.id) ? 'harm' : ''}`}
            disabled={busy}
            title={choice.takes === undefined ? choice.label : `${choice.label}: ${choice.takes}`}
            data-choice={i + 1}
            onClick={() => choose(choice)}
          >
            <kbd>{i + 1}</kbd> {oneLine(request.labels ? choice.label : choice.id, 80)}
          </button>
        ))}
        {takesWords(request) ? (
          <Words {...{ request, busy, words, setWords }} answer={(text) => void answer(text)} />
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
  readonly answer: (text: string) => void;
}

function Words({ request, busy, words, setWords, answer }: WordsProps) {
  const free = takesFreeText(request);
  const choices = choicesOf(request);
  const more =
    choices.find(({ needsWords }) => needsWords) ?? choices.find(({ takes }) => takes !== undefined);
  const label = free || !more ? 'Answer in your own words' : `For ${more.id}: ${more.takes}`;
  // Words that only one choice can mean are sent as that choice.
  const meant = free ? '' : more?.needsWords ? `${more.id}: ` : null;
  const send = (event: Event): void => {
    event.preventDefault();
    if (meant !== null && words.trim() !== '') answer(meant + words.trim());
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
      {meant !== null ? (
        <button type="submit" class="button" disabled={busy || words.trim() === ''}>
          Send
        </button>
      ) : null}
    </form>
  );
}
