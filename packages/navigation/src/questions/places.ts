import type { FoundDefinition } from '@reveille/protocol';
import type { ServerPlace, ServerSession, Spot } from '../lsp/session.ts';
import { describe, describeOutside } from './describe.ts';
import { inBatches, type Inquiry } from './inquiry.ts';
import { definedFor } from './parsed.ts';

export const MOST_SHOWN = 40;

/** Questions in the server's line at once. */
export const AT_ONCE = 32;

/** Where spots lead to. */
export async function resolve(session: ServerSession, spots: readonly Spot[]): Promise<ServerPlace[]> {
  return unique((await inBatches(spots, AT_ONCE, (spot) => session.definition(spot))).flat());
}

export const unique = (places: readonly ServerPlace[]): ServerPlace[] => [
  ...new Map(places.map((place) => [`${place.file}:${place.line}:${place.column}`, place])).values(),
];

/**
 * To what is really defined: from a name that only passes another on (`module.exports = { name }`) one step further, and from
 * a constructor to its class if that is there too.
 */
export async function followed(
  inquiry: Inquiry,
  session: ServerSession,
  places: readonly ServerPlace[],
): Promise<ServerPlace[]> {
  const all = await inBatches(places, 4, async (place): Promise<ServerPlace[]> => {
    const { path, line, column } = place;
    const known = path === null ? null : await inquiry.definedAt({ path, line, column });
    if (path !== null && known?.declaredOnly === true) {
      const spots = await definedFor(inquiry, session, { place: { path, line, column }, name: known.name });
      return spots.map((spot) => ({ ...spot, file: spot.path }));
    }
    if (path === null || known) return [place];
    const further = await resolve(session, [{ path, line, column }]);
    return further.length > 0 ? further : [place];
  });
  const targets = unique(all.flat());
  const lines = await Promise.all(
    targets.map(async ({ path, line, column }) =>
      path === null ? '' : (await inquiry.placeText({ path, line, column })).text,
    ),
  );
  const plain = targets.filter(
    ({ column }, i) => !/^(?:constructor|__init__)\b/.test(lines[i]?.slice(column - 1) ?? ''),
  );
  return plain.length > 0 ? plain : targets;
}

/** Places with what tells them apart, those first that are most likely meant. */
export async function shown(
  inquiry: Inquiry,
  session: ServerSession,
  { places, name }: { readonly places: readonly (Spot | ServerPlace)[]; readonly name: string },
): Promise<FoundDefinition[]> {
  const all = await inBatches(places.slice(0, MOST_SHOWN), 8, async (place): Promise<FoundDefinition> => {
    const { path, line, column } = place;
    if (path === null)
      return describeOutside({ path, file: 'file' in place ? place.file : '', line, column }, name);
    return await describe(inquiry, { path, line, column }, { name, session });
  });
  const rank = ({ path, exported, outside }: FoundDefinition): number =>
    (outside ? 4 : 0) +
    (/(?:^|\/)(?:tests?|__tests__|node_modules)\/|\.(?:test|spec)\./.test(path) ? 2 : 0) +
    (exported ? 0 : 1);
  return all.toSorted((a, b) => rank(a) - rank(b));
}
