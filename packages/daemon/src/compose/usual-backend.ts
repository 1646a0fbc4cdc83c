import type { Preset } from '@reveille/executors/acp';
import type { FoundEndpoint } from './endpoint.ts';

interface Known {
  /** What the person set, if they did. */
  readonly configured: string | null;
  /** The backends that are there. */
  readonly installed: readonly string[];
  /** Agents of vendors and of the person, in the order in which they count. */
  readonly agents: readonly Preset[];
  readonly endpoint: FoundEndpoint | null;
  readonly login: (preset: Preset) => 'yes' | 'no' | 'unknown';
}

export interface UsualBackend {
  readonly name: string;
  /** A part of a sentence. */
  readonly why: string;
}

/**
 * The backend of agents that name none: the one that is set; else an agent that is installed, those with a login before
 * those without; else our own, if it has a model; else the scripted one, which needs nothing and thinks nothing.
 */
export function usualBackend({ configured, installed, agents, endpoint, login }: Known): UsualBackend {
  if (configured !== null) return { name: configured, why: 'engine.defaultBackend is set' };
  const there = agents.filter(({ name }) => installed.includes(name));
  const ready = there.find((preset) => login(preset) !== 'no');
  if (ready) return { name: ready.name, why: `${ready.title} is installed${firstOf(there.length)}` };
  const [first] = there;
  if (first) return { name: first.name, why: `${first.title} is installed, but there is no login for it` };
  if (endpoint)
    return { name: 'builtin', why: `no agent that can be used is installed, and ${endpoint.why}` };
  return {
    name: 'scripted',
    why: 'no agent that can be used is installed, and there is no key and no model',
  };
}

const firstOf = (count: number): string => (count > 1 ? `, the first of ${count}` : '');
