import { z } from 'zod';

/** `[@][backend:]name`, parsed once, at creation; the parsed form is what is stored (AGT1). */
export const AgentType = z.object({ backend: z.string(), name: z.string() });
export type AgentType = z.infer<typeof AgentType>;

const GRAMMAR = /^@?(?:([a-z][a-z0-9_-]{0,39}):)?([a-z][a-z0-9_-]{0,63})$/;

export function parseAgentType(text: string, defaultBackend: string): AgentType | null {
  const match = GRAMMAR.exec(text.trim().toLowerCase());
  if (!match?.[2]) return null;
  return { backend: match[1] ?? defaultBackend, name: match[2] };
}

export const formatAgentType = (type: AgentType): string => `@${type.backend}:${type.name}`;

/** Names are compared by so many of their first characters: comparing two takes time by the product of their lengths. */
const COMPARED = 64;
const compared = (name: string): string => name.slice(0, COMPARED).toLowerCase();

/** Names in the order of their edit distance from what was typed: the error names the nearest first. */
export function nearest(typed: string, names: readonly string[]): string[] {
  const wanted = compared(typed);
  return names
    .map((name) => ({ name, distance: editDistance(wanted, compared(name)) }))
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .map((entry) => entry.name);
}

/** What was probably meant, if anything is near enough to what was typed. */
export function likely(typed: string, names: readonly string[]): string | undefined {
  const [best] = nearest(typed, names);
  if (best === undefined) return undefined;
  const distance = editDistance(compared(typed), compared(best));
  return distance <= Math.max(1, Math.floor(typed.length / 2)) ? best : undefined;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replace, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
