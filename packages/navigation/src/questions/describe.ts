import type { FoundDefinition } from '@reveille/protocol';
import type { ServerPlace, ServerSession } from '../lsp/session.ts';
import { firstLines } from '../text/first-lines.ts';
import type { Inquiry } from './inquiry.ts';

export interface Described {
  readonly signature: string | null;
  readonly doc: string | null;
}

const LONGEST = 400;
/** So much of what a server shows is read. */
const MOST_READ = 20_000;

/** What a server shows on a name, in its two parts. */
export function partsOfHover(shown: string | null): Described {
  if (shown === null) return { signature: null, doc: null };
  const hover = shown.slice(0, MOST_READ);
  const block = /```\w*\n([\s\S]*?)\n```/.exec(hover);
  // Some say first in which language it is, or what it is in.
  const code = block?.[1]?.split('\n').filter((line) => !/^(?:<\?php$|\/\/ In )/.test(line));
  const signature = (code?.join(' ') ?? hover.split('\n')[0] ?? '').replaceAll(/\s+/g, ' ').trim();
  const rest = block ? hover.slice(block.index + block[0].length) : hover.split('\n').slice(1).join('\n');
  return {
    signature: signature === '' ? null : signature.slice(0, LONGEST),
    doc: firstLines(rest.replaceAll(/^-{3,}$/gm, '')),
  };
}

/** A definition with what tells it apart from others of its name. */
export async function describe(
  inquiry: Inquiry,
  { path, line, column }: { readonly path: string; readonly line: number; readonly column: number },
  options: { readonly name: string; readonly session?: ServerSession },
): Promise<FoundDefinition> {
  const spot = { path, line, column };
  const { text, declared } = await inquiry.placeText(spot);
  const [known, hover] = await Promise.all([
    inquiry.definedAt(spot),
    declared?.shown ?? (options.session ? inquiry.hover(options.session, spot).then(partsOfHover) : null),
  ]);
  // What the server does not show, the parser does.
  const parsed =
    known && !hover?.signature && known.signature === undefined
      ? await inquiry.syntax.at(path, (await inquiry.text(path)) ?? '', spot)
      : known;
  return {
    ...spot,
    text,
    name: known?.name ?? options.name,
    kind: known?.declaredOnly ? `${known.kind}${DECLARED}` : (known?.kind ?? null),
    container: known?.container ?? null,
    signature: hover?.signature ?? parsed?.signature ?? null,
    doc: hover?.doc ?? parsed?.doc ?? null,
    exported: known?.exported ?? null,
    outside: false,
  };
}

const DECLARED = ' declaration';

/** It says that there is something, which is defined elsewhere. */
export const isDeclaration = ({ kind }: FoundDefinition): boolean => kind?.endsWith(DECLARED) === true;

/** A definition that is not in the worktree is named, and not shown: its folder is not the agent's to see. */
export function describeOutside({ file, line, column }: ServerPlace, name: string): FoundDefinition {
  const path = file.split('/').slice(-2).join('/');
  const unknown = { kind: null, container: null, signature: null, doc: null, exported: null };
  return { path, line, column, text: '', name, ...unknown, outside: true };
}
