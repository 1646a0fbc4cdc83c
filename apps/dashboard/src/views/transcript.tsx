import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RunId, TaskRow, TranscriptEntry } from '@reveille/protocol';
import { attempt, under } from '../acts/perform.tsx';
import { isTerminal } from '@reveille/protocol';
import { api } from '../link/api.ts';
import { oneLine } from '../parts/clean.ts';
import { Empty } from '../parts/pieces.tsx';
import { Prose, Said } from '../parts/text.tsx';
import { Clock } from '../parts/time.tsx';
import { blocksOf, type Block, type ToolUse } from './blocks.ts';

const LOOK_MS = 700;
const MOST = 2_000;
/** What is further up is drawn when it is asked for. */
const DRAWN = 150;

/** What the agent was given, said and did; live while it works. */
export function Transcript({ row }: { row: TaskRow }) {
  const { run } = row;
  const entries = useTranscript(run?.id ?? null, run?.state === 'open');
  const end = useRef<HTMLDivElement>(null);
  const stays = useRef(true);
  useLayoutEffect(() => {
    const scroller = end.current?.closest('.scroll');
    if (!scroller) return undefined;
    const look = (): void =>
      void (stays.current = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120);
    scroller.addEventListener('scroll', look, { passive: true });
    return () => scroller.removeEventListener('scroll', look);
  }, []);
  // Whoever reads further up is left there.
  useLayoutEffect(() => {
    const scroller = end.current?.closest('.scroll');
    if (stays.current && scroller && entries.length > 0) scroller.scrollTop = scroller.scrollHeight;
  }, [entries]);
  return (
    <div class="transcript">
      {entries.length === 0 ? (
        <Empty title={run ? 'Nothing is written down of this run.' : 'No agent has begun.'} />
      ) : (
        <Blocks key={run?.id} entries={entries} />
      )}
      {isTerminal(row.state) ? null : <Composer row={row} />}
      <div ref={end} />
    </div>
  );
}

/** Drawn anew when something was said, not with every picture of the rest. */
function Blocks({ entries }: { entries: readonly TranscriptEntry[] }) {
  const [most, setMost] = useState(DRAWN);
  const blocks = useMemo(() => blocksOf(entries), [entries]);
  const earlier = Math.max(0, blocks.length - most);
  const list = useMemo(
    () => (
      <ol class="blocks" aria-label="Transcript">
        {blocks.slice(earlier).map((block) => (
          <BlockItem key={block.n} block={block} />
        ))}
      </ol>
    ),
    [blocks, earlier],
  );
  return (
    <>
      {earlier > 0 ? (
        <button type="button" class="button earlier" onClick={() => setMost(most + DRAWN * 2)}>
          Show what was before ({earlier.toLocaleString('en')})
        </button>
      ) : null}
      {list}
    </>
  );
}

/** All of it that is kept, then what comes. */
function useTranscript(run: RunId | null, live: boolean): readonly TranscriptEntry[] {
  const [entries, setEntries] = useState<readonly TranscriptEntry[]>([]);
  const last = useRef(0);
  useEffect(() => {
    setEntries([]);
    last.current = 0;
  }, [run]);
  useEffect(() => {
    if (run === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current = true;
    const look = async (): Promise<void> => {
      const page = await api()
        .views.transcript({ run, after: last.current, limit: MOST })
        .catch(() => ({ entries: [] }));
      if (!current) return;
      last.current = page.entries.at(-1)?.n ?? last.current;
      if (page.entries.length > 0) setEntries((known) => [...known, ...page.entries].slice(-MOST));
      if (live) timer = setTimeout(() => void look(), LOOK_MS);
    };
    void look();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [run, live]);
  return entries;
}

function BlockItem({ block }: { block: Block }) {
  switch (block.kind) {
    case 'given':
      return (
        <li class="block block-given">
          <details>
            <summary>
              <span class="block-who">given</span> <span class="block-first">{oneLine(block.text, 160)}</span>
              <Clock at={block.at} />
            </summary>
            <Prose text={block.text} />
          </details>
        </li>
      );
    case 'tools':
      return <Tools block={block} />;
    case 'said':
    case 'thought':
      return (
        <li class={`block block-${block.kind}`}>
          <span class="block-side">
            {block.kind === 'thought' ? <span class="block-who">thinks</span> : null}
            <Clock at={block.at} />
          </span>
          <Prose text={block.text} />
        </li>
      );
    default:
      return (
        <li class={`block block-note ${block.failed ? 'bad' : ''}`}>
          <span class="block-side">
            <Clock at={block.at} />
          </span>
          <Said text={block.text} />
        </li>
      );
  }
}

const Tools = ({ block }: { block: Extract<Block, { kind: 'tools' }> }) => {
  const { uses } = block;
  const last = uses.at(-1);
  const failed = uses.filter(({ state }) => state === 'failed').length;
  return (
    <li class="block block-tools">
      <details>
        <summary>
          <span class="block-who">{uses.length === 1 ? 'tool' : `${uses.length} tools`}</span>
          <code class="block-first">{oneLine(last?.text ?? '', 160)}</code>
          {failed > 0 ? <span class="bad">{failed} failed</span> : null}
          {last?.state === 'open' ? <span class="tone-run">running</span> : null}
          <Clock at={block.at} />
        </summary>
        <ol class="uses-list">
          {uses.map((use) => (
            <Use key={use.n} use={use} />
          ))}
        </ol>
      </details>
    </li>
  );
};

const WORDS = { open: 'running', done: 'done', failed: 'failed' } as const;

const Use = ({ use }: { use: ToolUse }) => (
  <li>
    <span class={use.state === 'failed' ? 'bad' : 'quiet'}>{WORDS[use.state]}</span>
    <code>
      <Said text={use.text} />
    </code>
    {use.files.length > 0 ? (
      <span class="quiet">{use.files.map((file) => oneLine(file)).join(', ')}</span>
    ) : null}
  </li>
);

function Composer({ row }: { row: TaskRow }) {
  const [words, setWords] = useState('');
  const what = `say ${row.id}`;
  const send = async (): Promise<void> => {
    if (words.trim() === '') return;
    const sent = await attempt(what, async () => {
      await api().sendMessage({ to: row.id, message: words });
      return 'In its mailbox; the mailbox shows when it was read.';
    });
    if (sent) setWords('');
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        rows={2}
        aria-label="Message to the agent"
        placeholder="Message to the agent (Ctrl Enter sends)"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send();
        }}
      />
      <button type="submit" class="button first" disabled={words.trim() === '' || under.value.has(what)}>
        Send
      </button>
    </form>
  );
}
