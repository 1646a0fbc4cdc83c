import type { AgentDefinition } from './definition.ts';
import { vocabulary, words, type Word } from './words.ts';

export interface Suggestion {
  readonly name: string;
  readonly score: number;
  /** In words: what in the description of the task speaks for it. */
  readonly reason: string;
}

/** What a match is worth. A trigger is its author's promise; a word of the description is a hint. */
const WORTH = {
  named: 20,
  called: 4,
  trigger: 3,
  furtherWord: 2,
  leading: 3,
  expertise: 1,
  described: 0.5,
  /** A description that stands alone has to say what others say with triggers. */
  describedAlone: 1.5,
  /** What a person added for this repository, or for themselves, was added for a reason. */
  own: 3,
} as const;
/** Below this nobody is suggested. */
const LEAST = 1;
/** So many words that no other agent knows are as good as a trigger. */
const TELLING = 2;
const LONGEST_TASK = 20_000;

/**
 * The agents that fit a described task, best first, each with its reason; none if nothing speaks for any. Only words
 * are compared, so the same task always gets the same answer. Of equal ones the nearer definition comes first, then the order of names decides.
 */
export function suggest(definitions: readonly AgentDefinition[], task: string): Suggestion[] {
  const text = task.slice(0, LONGEST_TASK);
  const profiles = definitions.filter(({ suggested }) => suggested).map(profile);
  const spread = new Map<string, number>();
  for (const { expertise, described } of profiles)
    for (const word of new Set([...expertise, ...described])) spread.set(word, (spread.get(word) ?? 0) + 1);
  const asked = words(text);
  const mentions = new Set(
    [...text.toLowerCase().matchAll(/@(?:[a-z0-9_-]+:)?([a-z][a-z0-9_-]*)/g)].map((m) => m[1]),
  );
  return profiles
    .map((candidate) => score(candidate, { asked, spread, mentioned: mentions.has(candidate.name) }))
    .filter((suggestion) => suggestion.score >= LEAST)
    .toSorted((a, b) => b.score - a.score || Number(b.own) - Number(a.own) || (a.name < b.name ? -1 : 1))
    .map(({ name, score: points, reason }) => ({ name, score: points, reason }));
}

/** A leading trigger, or the like: less is no reason to pass work on. */
const CLEARLY = 6;

/** Whoever fits a task clearly, and twice as well as the agent that has it. Who is no specialist works outside of nothing. */
export function betterThan(own: AgentDefinition, suggestions: readonly Suggestion[]): Suggestion | null {
  if (!own.suggested) return null;
  const [best] = suggestions;
  if (!best || best.name === own.name || best.score < CLEARLY) return null;
  if (own.delegatesTo && !own.delegatesTo.includes(best.name)) return null;
  const fits = suggestions.find(({ name }) => name === own.name)?.score ?? 0;
  return best.score >= 2 * fits ? best : null;
}

interface Profile {
  readonly name: string;
  readonly called: readonly string[];
  readonly own: boolean;
  readonly describedWorth: number;
  /** The longest first: `write tests` is worth more than the `tests` in it. */
  readonly triggers: readonly { readonly text: string; readonly stems: readonly string[] }[];
  readonly expertise: ReadonlySet<string>;
  readonly described: ReadonlySet<string>;
}

function profile(definition: AgentDefinition): Profile {
  const { name, triggers, expertise, description, whenToUse, place } = definition;
  // `test` and `tests` are the same trigger.
  const phrases = new Map(triggers.map((text) => [stems(text).join(' '), { text, stems: stems(text) }]));
  return {
    name,
    called: stems(name),
    own: place !== 'builtin',
    describedWorth: triggers.length + expertise.length === 0 ? WORTH.describedAlone : WORTH.described,
    triggers: [...phrases.values()]
      .filter((phrase) => phrase.stems.length > 0)
      .toSorted((a, b) => b.stems.length - a.stems.length || (a.text < b.text ? -1 : 1)),
    expertise: vocabulary(expertise.join('\n')),
    described: vocabulary(`${description}\n${whenToUse}`),
  };
}

interface Asked {
  readonly asked: readonly Word[];
  /** How many agents know a word: what all of them know tells none of them apart. */
  readonly spread: ReadonlyMap<string, number>;
  readonly mentioned: boolean;
}

function score(candidate: Profile, { asked, spread, mentioned }: Asked): Suggestion & { own: boolean } {
  const triggers = matchedTriggers(candidate, asked);
  const taken = new Set(triggers.flatMap((trigger) => trigger.stems));
  const heard = new Map(
    asked.filter((word) => word.telling && !taken.has(word.stem)).map((word) => [word.stem, word.text]),
  );
  const known = [...heard.keys()].filter((word) => candidate.expertise.has(word));
  const hinted = [...heard.keys()].filter(
    (word) => candidate.described.has(word) && !candidate.expertise.has(word),
  );
  const called = !mentioned && startOf(asked, candidate.called) >= 0;
  const rarity = (found: readonly string[]): number =>
    found.reduce((sum, word) => sum + 1 / (spread.get(word) ?? 1), 0);
  const own = candidate.own && (triggers.length > 0 || rarity([...known, ...hinted]) >= TELLING);
  const total =
    (own ? WORTH.own : 0) +
    (mentioned ? WORTH.named : 0) +
    (called ? WORTH.called : 0) +
    triggers.reduce((sum, trigger) => sum + trigger.worth, 0) +
    WORTH.expertise * rarity(known) +
    candidate.describedWorth * rarity(hinted);
  const listed = (found: readonly string[]): string => found.map((word) => heard.get(word)).join(', ');
  const reasons = [
    ...(mentioned || called ? ['it is named'] : []),
    ...(triggers.length > 0 ? [`triggers: ${triggers.map(({ text }) => text).join(', ')}`] : []),
    ...(known.length > 0 ? [`expertise: ${listed(known)}`] : []),
    ...(hinted.length > 0 ? [`description: ${listed(hinted)}`] : []),
  ];
  return {
    name: candidate.name,
    own: candidate.own,
    score: Math.round(total * 100) / 100,
    reason: reasons.join('; '),
  };
}

/** Each word of the task counts for one trigger only. */
function matchedTriggers({ triggers }: Profile, asked: readonly Word[]) {
  const used = new Set<number>();
  return triggers.flatMap(({ text, stems: phrase }) => {
    const start = startOf(asked, phrase, used);
    if (start < 0) return [];
    for (let j = 0; j < phrase.length; j++) used.add(start + j);
    const leads = phrase.some((_, j) => asked[start + j]?.leads);
    const worth = WORTH.trigger + WORTH.furtherWord * (phrase.length - 1) + (leads ? WORTH.leading : 0);
    return [{ text, stems: phrase, worth }];
  });
}

/** Where a phrase begins in a text, word by word, among the words that are not used yet. */
function startOf(asked: readonly Word[], phrase: readonly string[], used?: ReadonlySet<number>): number {
  return asked.findIndex((_, i) =>
    phrase.every((wanted, j) => asked[i + j]?.stem === wanted && !used?.has(i + j)),
  );
}

const stems = (text: string): string[] => words(text).map((word) => word.stem);
