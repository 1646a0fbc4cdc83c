import type { CodeLine } from '@reveille/protocol';
import type { Role } from '../syntax/syntax.ts';
import type { Explained } from '../text/explain.ts';
import type { TextHit } from '../text/known-tree.ts';
import type { Inquiry } from './inquiry.ts';

export interface Roles {
  readonly told: ReadonlyMap<TextHit, Role>;
  /** Files that were not parsed. */
  readonly left: number;
}

/** Whether hits are code, a comment or a string: by their text where that is enough, else by the parser. */
export async function rolesOf(inquiry: Inquiry, hits: readonly TextHit[], most: number): Promise<Roles> {
  const told = new Map<TextHit, Role>(
    hits.filter(({ commented }) => commented).map((hit) => [hit, 'comment'] as const),
  );
  const rest = hits.filter((hit) => !told.has(hit));
  const unclear: { readonly hit: TextHit; readonly role: null }[] = [];
  for (const hit of rest) {
    const { role } = hit.explained;
    if (role === null) unclear.push({ hit, role });
    else told.set(hit, role);
  }
  const parsed = await parsedRoles(inquiry, unclear, most);
  return { told: new Map([...told, ...parsed.told]), left: parsed.left };
}

/** What the parser says of those that the text alone did not tell, until so many characters are parsed. */
export async function parsedRoles(
  inquiry: Inquiry,
  hits: readonly { readonly hit: TextHit; readonly role: Explained['role'] }[],
  most: number,
): Promise<Roles> {
  const told = new Map<TextHit, Role>();
  for (const { hit, role } of hits) if (role !== null) told.set(hit, role);
  const unclear = hits.flatMap(({ hit, role }) => (role === null ? [hit] : []));
  let chars = 0;
  let left = 0;
  for (const [path, within] of Map.groupBy(unclear, (hit) => hit.path)) {
    if (chars > most) {
      left += 1;
      continue;
    }
    const text = (await inquiry.text(path)) ?? '';
    chars += text.length;
    const roles = await inquiry.syntax.roles(path, text, within);
    for (const [i, hit] of within.entries()) if (roles?.[i]) told.set(hit, roles[i]);
  }
  return { told, left };
}

/** What is shown of a hit. */
export const plainLine = ({ path, line, column, text }: TextHit): CodeLine => ({ path, line, column, text });
