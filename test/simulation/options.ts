import { DEFAULTS, type Settings } from '@reveille/core';
import { Chance } from './chance.ts';
import { machineOf, type MachineOptions } from './machine.ts';

/** What can go wrong. Each seed switches on a random part of it, so that rare faults are not drowned by common ones. */
export const FAULTS = [
  'crash_before_commit',
  'crash_after_commit',
  'crash_any_time',
  'agents_survive_crash',
  'store_error',
  'read_error',
  'disk_full',
  'store_gone',
  'store_hangs',
  'conflict',
  'slow_commit',
  'slow_read',
  'stall',
  'wall_jump',
  'laptop_sleeps',
  'lost_wake',
  'lost_offer',
  'delayed_reports',
  'duplicate_reports',
  'late_reports',
  'agent_crash',
  'agent_fault',
  'agent_silent',
  'ignores_stop',
  'broken_connection',
] as const;
export const FAULTS_OF_FILES = ['no_worktree', 'work_not_taken', 'escape'] as const;
/** Only where answers travel. */
export const FAULTS_OF_CALLS = ['broken_exchange'] as const;
/** They strike at the one moment at which mail is taken and not yet brought to its caller, or a run is being written. */
export const FAULTS_OF_MOMENTS = [
  'unreadable_answer',
  'stall_with_answer',
  'hangs_in_commit',
  'wall_set_back',
] as const;
export type Fault =
  | (typeof FAULTS)[number]
  | (typeof FAULTS_OF_MOMENTS)[number]
  | (typeof FAULTS_OF_FILES)[number]
  | (typeof FAULTS_OF_CALLS)[number];

/** Those that keep a word from being recorded at once. */
export const FAULTS_THAT_HOLD_UP: readonly Fault[] = [
  'crash_before_commit',
  'crash_after_commit',
  'crash_any_time',
  'stall',
  'store_error',
  'store_gone',
  'store_hangs',
  'disk_full',
  'slow_commit',
  'read_error',
  'delayed_reports',
  'unreadable_answer',
  'stall_with_answer',
  'hangs_in_commit',
];

/** What agents and people do beyond plain work; also switched on and off by the seed. */
export const HABITS = [
  'spawn',
  'blocking_spawn',
  'same_key',
  'await',
  'check_updates',
  'progress',
  'ask',
  'approval',
  'messages',
  'usage',
  'reserve',
  'report_failed',
  'report_partial',
  'report_twice',
  'give_up_children',
  'no_report',
  'pause',
  'cancel',
  'cancel_plan',
  'retry',
  'interrupt',
  'chat',
  'chat_leaves',
  'emergency_stop',
  'reviews',
  'budgets',
  'complete_by_hand',
] as const;
/** Drawn apart, after the others were: a seed without any of these is what it was before there were any. */
export const HABITS_OF_STEERING = [
  'leave',
  'rest_to_ask',
  'seats_answer',
  'answer_again',
  'money',
  'raise',
  'stop_part',
  'pause_busy',
] as const;
/** Drawn apart once more: what is decided above the workers. */
export const HABITS_OF_COMMAND = [
  'swap',
  'take_over',
  'goals',
  'permits',
  'new_rules',
  'nonsense',
  'doors',
] as const;
/** Drawn apart a third time: calls whose answers travel, side by side, and break off or are given up on the way. */
export const HABITS_OF_CALLS = ['exchanges', 'calls_beside', 'calls_given_up', 'chat_calls'] as const;
/** Drawn apart a fourth time: what is rare by itself and shows mistakes that nothing else shows. */
export const HABITS_OF_MOMENTS = [
  'given_up_in_time',
  'odd_calls',
  'short_turns',
  'raise_stopped',
  'inner_budgets',
  'integrate_again',
  'agent_reviews',
  'own_subtasks',
] as const;
export type Habit =
  | (typeof HABITS)[number]
  | (typeof HABITS_OF_MOMENTS)[number]
  | (typeof HABITS_OF_CALLS)[number]
  | (typeof HABITS_OF_STEERING)[number]
  | (typeof HABITS_OF_COMMAND)[number]
  | 'conflicts';

/** Whether an agent's history, when it is resumed, tells what it was given. */
export type History = 'tells' | 'cannot_say' | 'starts_anew';

export interface SimOptions {
  readonly seed: number;
  readonly hosts: number;
  /** Hosts share a database and reads do not see what is not committed; else one host owns a file. */
  readonly shared: boolean;
  readonly faults: ReadonlySet<Fault>;
  readonly habits: ReadonlySet<Habit>;
  /** How often faults strike, in all. */
  readonly wildness: number;
  readonly plans: number;
  readonly planTasks: number;
  readonly maxTasks: number;
  readonly shape: 'chain' | 'diamond' | 'layers' | 'wide' | 'random';
  readonly activeMs: number;
  readonly workMs: number;
  readonly histories: readonly History[];
  readonly steers: boolean;
  readonly settings: Settings;
  /** Whether the tasks work on a repository. */
  readonly files: boolean;
  /** Whether each host keeps its own record of the agents it started. One that owns its rows may do without. */
  readonly reaps: boolean;
  /** Null: nobody looks at the hosts, and nothing is scarce. */
  readonly machine: MachineOptions | null;
}

export function expand(seed: number): SimOptions {
  const chance = new Chance(seed, 1);
  const faultRate = chance.pick([0, 0.2, 0.4, 0.7]) ?? 0;
  const habitRate = chance.pick([0.4, 0.7, 0.95]) ?? 0.5;
  const shared = chance.hit(0.45);
  // Drawn apart, so that a seed without files is what it was before there were any.
  const apart = new Chance(seed, 3);
  const files = apart.hit(0.4);
  const hosts = shared && chance.hit(0.8) ? 2 : 1;
  const steering = new Chance(seed, 5);
  const steeringRate = steering.pick([0, 0.6, 0.95]) ?? 0;
  const command = new Chance(seed, 11);
  const commandRate = command.pick([0, 0, 0.6, 0.95]) ?? 0;
  const calls = new Chance(seed, 13);
  const callRate = calls.pick([0, 0.6, 0.95]) ?? 0;
  const moments = new Chance(seed, 17);
  const momentRate = moments.pick([0, 0, 0.95]) ?? 0;
  return {
    seed,
    hosts,
    shared,
    faults: new Set([
      ...FAULTS.filter(() => chance.hit(faultRate)),
      ...FAULTS_OF_FILES.filter(() => files && apart.hit(faultRate)),
      ...FAULTS_OF_CALLS.filter(() => calls.hit(callRate)),
      ...FAULTS_OF_MOMENTS.filter(() => moments.hit(momentRate * 0.6)),
    ]),
    habits: new Set([
      ...HABITS.filter(() => chance.hit(habitRate)),
      ...(files && apart.hit(habitRate) ? (['conflicts'] as const) : []),
      ...HABITS_OF_STEERING.filter(() => steering.hit(steeringRate)),
      ...HABITS_OF_COMMAND.filter(() => command.hit(commandRate)),
      ...HABITS_OF_CALLS.filter(() => calls.hit(callRate)),
      ...HABITS_OF_MOMENTS.filter(() => moments.hit(momentRate)),
    ]),
    wildness: chance.pick([0.3, 1, 1, 2.5]) ?? 1,
    plans: chance.hit(0.2) ? 2 : 1,
    planTasks: chance.skewed(1, 9),
    maxTasks: chance.int(5, 30),
    shape: chance.pick(['chain', 'diamond', 'layers', 'wide', 'random'] as const) ?? 'wide',
    activeMs: chance.pick([4_000, 15_000, 40_000, 70_000]) ?? 15_000,
    workMs: chance.pick([5, 200, 3_000, 12_000]) ?? 200,
    histories: chance.pick(HISTORY_MIXES) ?? ['tells'],
    steers: chance.hit(0.5),
    settings: {
      ...watchful(settings(chance), moments.hit(momentRate)),
      ...(steering.hit(steeringRate / 2) ? { orphans: 'hand_up' as const } : {}),
      ...(command.hit(commandRate / 6) ? { orchestrator: 'policy' as const } : {}),
    },
    files,
    reaps: hosts > 1 || new Chance(seed, 4).hit(0.3),
    machine: machineOf(seed),
  };
}

const HISTORY_MIXES: readonly (readonly History[])[] = [
  ['tells'],
  ['cannot_say'],
  ['starts_anew'],
  ['tells', 'cannot_say', 'starts_anew'],
];

/** Times that a simulated turn can be longer than. */
const watchful = (set: Settings, is: boolean): Settings =>
  is ? { ...set, health: { ...set.health, stuckAfterMs: 6_000, progressEveryMs: 6_000 } } : set;

function settings(chance: Chance): Settings {
  const quick = chance.hit(0.6);
  return {
    ...DEFAULTS,
    // The audit adds up what was told, and knows no estimates.
    budgets: { ...DEFAULTS.budgets, unpriced: 'allow' },
    depth: { orchestrator: chance.int(2, 4), standalone: chance.int(1, 3) },
    children: {
      total: chance.pick([3, 6, 100]) ?? 100,
      open: chance.pick([2, 4, 20]) ?? 20,
      perMinute: 60,
      planned: 500,
    },
    concurrency: chance.pick([1, 1, 2, 3, 16]) ?? 2,
    maxUpdates: chance.pick([3, 8, 100]) ?? 8,
    health: quick
      ? { ...DEFAULTS.health, inactiveAfterMs: 4_000, graceMs: 1_000, inquiryTimeoutMs: 8_000 }
      : DEFAULTS.health,
    requests: {
      passOnAfterMs: quick ? 12_000 : 60_000,
      expireAfterMs: chance.hit(0.3) ? 30_000 : null,
      openPerRun: 10,
    },
    orphans: chance.hit(0.3) ? 'hand_up' : 'cancel',
    patienceMs: chance.pick([50, 2_000, 50_000]) ?? 2_000,
    steer: chance.hit(0.8),
  };
}

export function describe(options: SimOptions): string {
  const { faults, habits, settings: set, machine } = options;
  const kind = options.shared ? 'one database that all hosts share' : 'a file of its own';
  return [
    `seed ${options.seed}: ${options.hosts} host(s) on ${kind}, ${options.plans} plan(s) of about ${options.planTasks + 1} task(s), shape "${options.shape}", at most ${options.maxTasks} tasks`,
    `  files: ${options.files ? 'every task has a checkout' : 'none'}`,
    `  faults (x${options.wildness}): ${[...faults].join(', ') || 'none'}`,
    `  habits: ${[...habits].join(', ') || 'none'}`,
    `  agents: histories ${options.histories.join(', ')}; ${options.steers ? 'can' : 'cannot'} be steered; work up to ${options.workMs} ms a stretch; ${options.activeMs / 1000} s before the quiet phase`,
    `  machine: ${machine ? JSON.stringify(machine) : 'nothing is scarce'}`,
    `  settings: concurrency ${set.concurrency}, depth ${set.depth.orchestrator}/${set.depth.standalone}, children ${set.children.open} at once of ${set.children.total}, ${set.maxUpdates} updates, orphans ${set.orphans}, patience ${set.patienceMs} ms, inquiry after ${set.health.inquiryTimeoutMs} ms, requests pass on after ${set.requests.passOnAfterMs} ms and expire after ${set.requests.expireAfterMs ?? 'never'}`,
  ].join('\n');
}
