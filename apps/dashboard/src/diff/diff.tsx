import { useState } from 'preact/hooks';
import { isTerminal, type Diff, type TaskRow } from '@reveille/protocol';
import { attempt, under } from '../acts/perform.tsx';
import { api } from '../link/api.ts';
import { plural } from '../parts/amounts.ts';
import { clean, oneLine } from '../parts/clean.ts';
import { Empty } from '../parts/pieces.tsx';
import { useAsked } from '../views/asked.ts';
import { asMessage, parsePatch, type Comment, type DiffFile, type DiffLine } from './parse.ts';

/** What it changed against where it began, with comments that go to the agent. */
export function DiffPart({ row }: { row: TaskRow }) {
  const [asked, setAsked] = useState(0);
  const found = useAsked<Diff>(() => api().diffTask(row.id), [row.id, row.state, row.run?.turns, asked]);
  const [comments, setComments] = useState<readonly Comment[]>([]);
  if (!row.hasFiles) return <Empty title="It has no files.">Its plan names no repository.</Empty>;
  if (found.state === 'failed') return <Empty title="There is no diff.">{found.why}</Empty>;
  if (found.state === 'asking') return <p class="loading">…</p>;
  const diff = found.value;
  const added = diff.files.reduce((sum, { insertions }) => sum + insertions, 0);
  const removed = diff.files.reduce((sum, { deletions }) => sum + deletions, 0);
  const editable = !isTerminal(row.state);
  return (
    <div class="diff">
      <header class="diff-head">
        <span>
          {plural(diff.files.length, 'file')}, <span class="added">+{added}</span>{' '}
          <span class="removed">−{removed}</span>
        </span>
        <code>{oneLine(diff.branch)}</code>
        <code class="quiet">{oneLine(diff.worktree)}</code>
        <button type="button" class="button" onClick={() => setAsked(asked + 1)}>
          Look again
        </button>
        <SendComments row={row} comments={comments} sent={() => setComments([])} />
      </header>
      {diff.files.length === 0 ? <Empty title="It has changed nothing yet." /> : null}
      {parsePatch(diff.patch).map((file) => (
        <FilePart
          key={file.path}
          file={file}
          comments={comments.filter(({ path }) => path === file.path)}
          add={editable ? (comment) => setComments([...comments, comment]) : null}
          drop={(comment) => setComments(comments.filter((each) => each !== comment))}
        />
      ))}
      {diff.truncated ? <p class="quiet">There is more than is shown: reveille diff {row.id}</p> : null}
    </div>
  );
}

function SendComments({
  row,
  comments,
  sent,
}: {
  row: TaskRow;
  comments: readonly Comment[];
  sent: () => void;
}) {
  if (comments.length === 0) return null;
  const what = `comments ${row.id}`;
  const send = async (): Promise<void> => {
    const done = await attempt(what, async () => {
      await api().sendMessage({ to: row.id, message: asMessage(comments) });
      return `${plural(comments.length, 'comment')} sent; the mailbox shows when they were read.`;
    });
    if (done) sent();
  };
  return (
    <button type="button" class="button first" disabled={under.value.has(what)} onClick={() => void send()}>
      Send {plural(comments.length, 'comment')} to the agent
    </button>
  );
}

interface FileProps {
  readonly file: DiffFile;
  readonly comments: readonly Comment[];
  readonly add: ((comment: Comment) => void) | null;
  readonly drop: (comment: Comment) => void;
}

const MOST_LINES = 2_000;

function FilePart({ file, comments, add, drop }: FileProps) {
  const [at, setAt] = useState<number | null>(null);
  const lines = file.lines.slice(0, MOST_LINES);
  return (
    <details class="diff-file" open={file.lines.length < 400}>
      <summary data-item>
        <code>{oneLine(file.path)}</code>
      </summary>
      <table class="diff-lines">
        <tbody>
          {lines.map((line, i) => (
            <LineRows
              key={i}
              line={line}
              path={file.path}
              comments={
                line.kind === 'removed' ? [] : comments.filter((comment) => comment.line === line.line)
              }
              open={at === i}
              toggle={add && line.line !== null ? () => setAt(at === i ? null : i) : null}
              add={(words) => {
                setAt(null);
                if (line.line !== null) add?.({ path: file.path, line: line.line, quoted: line.text, words });
              }}
              drop={drop}
            />
          ))}
        </tbody>
      </table>
      {file.lines.length > MOST_LINES ? (
        <p class="quiet">… and {file.lines.length - MOST_LINES} lines more</p>
      ) : null}
    </details>
  );
}

interface LineProps {
  readonly line: DiffLine;
  readonly path: string;
  readonly comments: readonly Comment[];
  readonly open: boolean;
  readonly toggle: (() => void) | null;
  readonly add: (words: string) => void;
  readonly drop: (comment: Comment) => void;
}

const SIGNS = { same: ' ', added: '+', removed: '−', hunk: '', note: '' } as const;

function LineRows({ line, path, comments, open, toggle, add, drop }: LineProps) {
  return (
    <>
      <tr class={`diff-${line.kind}`}>
        <td class="diff-number">
          {toggle ? (
            <button
              type="button"
              class="plain"
              aria-label={`Comment on ${oneLine(path)} line ${line.line}`}
              onClick={toggle}
            >
              {line.line}
            </button>
          ) : (
            line.line
          )}
        </td>
        <td class="diff-sign">{SIGNS[line.kind]}</td>
        <td class="diff-text">{clean(line.text)}</td>
      </tr>
      {comments.map((comment) => (
        <tr key={comment.words} class="diff-comment">
          <td colSpan={2} />
          <td>
            {comment.words}{' '}
            <button type="button" class="plain" onClick={() => drop(comment)}>
              remove
            </button>
          </td>
        </tr>
      ))}
      {open ? (
        <tr class="diff-comment">
          <td colSpan={2} />
          <td>
            <CommentBox add={add} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

function CommentBox({ add }: { add: (words: string) => void }) {
  const [words, setWords] = useState('');
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim() !== '') add(words.trim());
      }}
    >
      <textarea
        rows={2}
        autofocus
        aria-label="Comment"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && words.trim() !== '')
            add(words.trim());
        }}
      />
      <button type="submit" class="button">
        Add
      </button>
    </form>
  );
}
