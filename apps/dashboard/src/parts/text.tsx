import { stretches } from './ansi.ts';
import { clean } from './clean.ts';

/** Whatever somebody else wrote: shown as it is, never obeyed, never fetched. */
export const Said = ({ text }: { text: string }) => (
  <>
    {stretches(text).map(({ text: piece, style }, i) =>
      style === '' ? (
        piece
      ) : (
        <span key={i} class={style}>
          {piece}
        </span>
      ),
    )}
  </>
);

/** As much of Markdown as helps reading: fenced code apart, and code in a line. No links, no images, no HTML. */
export const Prose = ({ text }: { text: string }) => (
  <div class="prose">
    {text.split(/^```[^\n]*\n?/m).map((part, i) =>
      i % 2 === 1 ? (
        <pre key={i} tabIndex={0}>
          <Said text={part.replace(/\n$/, '')} />
        </pre>
      ) : (
        <Lines key={i} text={part} />
      ),
    )}
  </div>
);

/** Without the line ends at its beginning and its end. */
function withoutBlankEnds(text: string): string {
  let [from, to] = [0, text.length];
  while (text[from] === '\n') from += 1;
  while (to > from && text[to - 1] === '\n') to -= 1;
  return text.slice(from, to);
}

const Lines = ({ text }: { text: string }) => {
  const trimmed = withoutBlankEnds(text);
  if (trimmed === '') return null;
  return (
    <p>
      {trimmed
        .split(/`([^`\n]{1,400})`/)
        .map((part, i) => (i % 2 === 1 ? <code key={i}>{clean(part)}</code> : <Said key={i} text={part} />))}
    </p>
  );
};
