import {
  formatAgentType,
  stricter,
  type Action,
  type ActionKind,
  type AgentType,
  type PolicyChain,
  type PolicyLayer,
  type PolicyPreset,
  type PolicyRule,
  type Verdict,
} from '@reveille/protocol';
import { UNREAD, commandParts, type CommandPart } from './command-parts.ts';
import { mayMatch, pathMatches, wildcard } from './patterns.ts';

/** What holds where no rule applies: the first where something of ours holds the action, the second where nothing does. */
const PRESETS: { readonly [P in PolicyPreset]: { readonly [K in ActionKind]: readonly [Verdict, Verdict] } } =
  {
    careful: {
      read: ['auto', 'auto'],
      delegate: ['auto', 'auto'],
      write: ['ask', 'ask'],
      delete: ['ask', 'ask'],
      command: ['ask', 'ask'],
      network: ['ask', 'ask'],
      other: ['ask', 'ask'],
    },
    normal: {
      read: ['auto', 'auto'],
      delegate: ['auto', 'auto'],
      write: ['auto', 'ask'],
      delete: ['auto', 'ask'],
      command: ['auto', 'ask'],
      network: ['auto', 'ask'],
      other: ['ask', 'ask'],
    },
    trusting: {
      read: ['auto', 'auto'],
      delegate: ['auto', 'auto'],
      write: ['auto', 'auto'],
      delete: ['auto', 'auto'],
      command: ['auto', 'auto'],
      network: ['auto', 'auto'],
      other: ['auto', 'auto'],
    },
  };

export const USUAL_LAYER: PolicyLayer = { from: 'by default', preset: 'normal', rules: [] };

/** What is to be done, and by whose word. */
export interface Judged {
  readonly verdict: Verdict;
  readonly why: string;
}

/** An action, and what is known of the run at this moment. */
export type Judging = Pick<Action, 'tool' | 'kind' | 'command' | 'paths' | 'held'> & {
  /** What the run has cost so far, as far as that is known. */
  readonly usd?: number;
};

/** The one place where it is decided what an agent may do: the strictest word of all that hold for it. */
export function judge(chain: PolicyChain, action: Judging): Judged {
  let strictest: Judged = { verdict: 'auto', why: 'nothing speaks against it' };
  for (const { agent, layers } of chain) {
    for (const layer of layers) {
      const judged = judgeBy(layer, action, agent);
      if (stricter(strictest.verdict, judged.verdict) !== strictest.verdict) strictest = judged;
    }
  }
  return strictest;
}

/** Of a command each part is judged, of several files each: what is asked about one is asked about all. */
function judgeBy(layer: PolicyLayer, action: Judging, agent: AgentType): Judged {
  const parts = action.command === null ? [null] : commandParts(action.command);
  if (parts === null && layer.preset !== 'trusting')
    return { verdict: 'ask', why: 'the command is too long to be judged' };
  const paths = action.paths.length === 0 ? [null] : action.paths;
  let strictest: Judged | null = null;
  for (const part of parts === null ? [UNREAD] : parts.length > 0 ? parts : [null]) {
    for (const path of paths) {
      const judged = judgeOne(layer, { ...action, part, path, agent });
      if (!strictest || stricter(strictest.verdict, judged.verdict) !== strictest.verdict) strictest = judged;
    }
  }
  return strictest ?? byPreset(layer, action);
}

interface One extends Judging {
  readonly part: CommandPart | null;
  readonly path: string | null;
  readonly agent: AgentType;
}

/** The first rule that applies; but if an earlier one may apply to what cannot be read, it is asked about at least. */
function judgeOne(layer: PolicyLayer, one: One): Judged {
  const at = layer.rules.findIndex((rule) => applies(rule, one));
  const rule = layer.rules[at];
  const judged = rule ? { verdict: rule.verdict, why: nameOf(layer, at) } : byPreset(layer, one);
  if (judged.verdict !== 'auto') return judged;
  const before = at < 0 ? layer.rules : layer.rules.slice(0, at);
  const maybe = before.findIndex((each) => mayApply(each, one));
  if (maybe < 0) return judged;
  return {
    verdict: 'ask',
    why: `${nameOf(layer, maybe)}, because not all that the command runs can be read`,
  };
}

const nameOf = ({ from, rules }: PolicyLayer, at: number): string => {
  const rule = rules[at];
  return `rule ${at + 1} of ${from}${rule ? ` (${ruleWords(rule)})` : ''}`;
};

function byPreset({ preset, from }: PolicyLayer, { kind, held }: Judging): Judged {
  const verdict = PRESETS[preset][kind][held ? 0 : 1];
  const why = held ? '' : ', and nothing holds it';
  return { verdict, why: `"${preset}" in ${from}: ${kind}${why}` };
}

function applies(rule: PolicyRule, { tool, kind, part, path, agent, usd }: One): boolean {
  if (rule.tool !== undefined && rule.tool !== kind && !wildcard(rule.tool, tool)) return false;
  if (rule.command !== undefined && !(part && commandApplies(rule.command, part, rule.verdict))) return false;
  if (rule.path !== undefined && !(path !== null && pathApplies(rule.path, path, rule.verdict))) return false;
  if (rule.agent !== undefined && !agentApplies(rule.agent, agent)) return false;
  return rule.aboveUsd === undefined || (usd ?? 0) > rule.aboveUsd;
}

/** A rule against commands that may be meant, as far as the command can be read. */
function mayApply(rule: PolicyRule, one: One): boolean {
  const { command, ...others } = rule;
  if (command === undefined || !one.part || rule.verdict === 'auto' || !applies(others, one)) return false;
  const { unread, masks, maybe } = one.part;
  if (maybe.some((each) => namesCommand(command, each))) return true;
  return unread || masks.some((mask) => mayMatch(oneBlank(command), mask));
}

/** To be asked about, it is enough that it is among them; to be let through, it must be all there is. */
function commandApplies(pattern: string, { text, readings, opaque }: CommandPart, verdict: Verdict): boolean {
  if (verdict === 'auto') return !opaque && wildcard(oneBlank(pattern), text);
  return readings.some((each) => namesCommand(pattern, each));
}

/** "git push*" and "git push" alone: whoever names a command means it with its arguments. */
function namesCommand(pattern: string, command: string): boolean {
  const wanted = oneBlank(pattern);
  return (
    [wanted, `${wanted} *`].some((each) => wildcard(each, command)) || wildcard(wanted, smallProgram(command))
  );
}

const oneBlank = (pattern: string): string => pattern.replaceAll(/\s+/g, ' ');

/** Not every file system tells capitals from small letters. */
const smallProgram = (command: string): string => command.replace(/^\S+/, (program) => program.toLowerCase());

/** Not every file system tells capitals from small letters. */
function pathApplies(pattern: string, path: string, verdict: Verdict): boolean {
  if (verdict === 'auto') return pathMatches(pattern, path);
  return pathMatches(pattern.toLowerCase(), path.toLowerCase());
}

function agentApplies(pattern: string, agent: AgentType): boolean {
  const wanted = pattern.toLowerCase().replace(/^@/, '');
  return wanted.includes(':')
    ? wildcard(wanted, formatAgentType(agent).slice(1))
    : wildcard(wanted, agent.name);
}

function ruleWords({ verdict, ...conditions }: PolicyRule): string {
  const words = Object.entries(conditions).map(([key, value]) => `${key} ${String(value)}`);
  return `${words.length > 0 ? words.join(', ') : 'everything'}: ${verdict}`;
}

/** Whether anything would ever be asked or denied of what is held: then an agent must be made to ask. */
export const mayAsk = (chain: PolicyChain): boolean =>
  chain.some(({ layers }) =>
    layers.some(
      ({ preset, rules }) => preset === 'careful' || rules.some(({ verdict }) => verdict !== 'auto'),
    ),
  );

/** What holds for a child: all that holds for its parent, and its own. */
export function meet(parent: PolicyChain, own: PolicyChain): PolicyChain {
  const all = [...parent, ...own].map((link) => ({ link, text: JSON.stringify(link) }));
  const first = all.filter(({ text }, i) => all.findIndex((other) => other.text === text) === i);
  return first.map(({ link }) => link);
}
