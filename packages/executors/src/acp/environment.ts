import type { Holding, Preset } from './presets.ts';
import { fieldsOf } from './shapes.ts';

type Variables = Readonly<Record<string, string>>;

/**
 * The whole environment of an agent: what it needs to be quiet and to leave its guarding to us, the keys it is known to
 * look for, and what was configured for it. Nothing else of ours.
 */
export function environmentFor(
  preset: Preset,
  holding: Holding,
  from: { readonly outer: NodeJS.ProcessEnv; readonly configured: Variables },
): Variables {
  const passed = Object.entries(from.outer).flatMap(([name, value]) =>
    value !== undefined && preset.passes.some((pattern) => pattern.test(name)) ? [[name, value]] : [],
  );
  const own = preset.env(holding);
  const env: Record<string, string> = { ...Object.fromEntries(passed), ...own, ...from.configured };
  for (const name of preset.jsonEnv) {
    const [ours, theirs] = [own[name], from.configured[name]];
    if (ours !== undefined && theirs !== undefined) env[name] = over(ours, theirs);
  }
  return env;
}

/** Theirs over ours, key by key. What is no JSON is taken as it is, and its reader will say so. */
function over(ours: string, theirs: string): string {
  try {
    return JSON.stringify(merge(JSON.parse(ours), JSON.parse(theirs)));
  } catch {
    return theirs;
  }
}

function merge(under: unknown, above: unknown): unknown {
  const isObject = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(under) || !isObject(above)) return above;
  const [low, high] = [fieldsOf(under), fieldsOf(above)];
  const keys = [...new Set([...Object.keys(low), ...Object.keys(high)])];
  return Object.fromEntries(keys.map((key) => [key, key in high ? merge(low[key], high[key]) : low[key]]));
}

const URLS = /\bhttps?:\/\/[^\s"'\\,}<>]+/g;
const LOOPBACK = /^(?:127(?:\.\d+){3}|localhost|\[::1\])$/;

/** Where an agent has to get to whatever its network is: the addresses in its environment, and where its model is. */
export function endpointsIn(
  env: Variables,
  hosts: readonly string[],
): { readonly loopback: readonly number[]; readonly hosts: readonly string[] } {
  const urls = Object.values(env)
    .flatMap((value) => [...value.matchAll(URLS)].map(([url]) => url))
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url));
  const near = urls.filter(({ hostname }) => LOOPBACK.test(hostname));
  const far = urls.filter(({ hostname }) => !LOOPBACK.test(hostname));
  const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));
  return {
    loopback: [...new Set(near.map(portOf))],
    hosts: [...new Set([...hosts, ...far.map(({ host }) => host)])],
  };
}
