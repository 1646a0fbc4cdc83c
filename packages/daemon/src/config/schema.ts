import { DEFAULTS, type Settings } from '@reveille/core';
import { DirtyPolicy } from '@reveille/protocol';
import { z } from 'zod';
import { Approvals } from './approvals.ts';
import { Acp, Backends, Prices } from './backends.ts';
import { choice, count, group, maybe, ms, name, paths, switched, texts } from './kinds.ts';

/**
 * Everything that can be set, with what holds if nobody sets it. The schema that editors complete from
 * (config.schema.json) and the names of the environment are made from this.
 */
const { depth, children, health, requests } = DEFAULTS;

const Engine = group(
  {
    defaultBackend: maybe(
      z.string().min(1).max(64),
      'The backend of an agent type that names none; null: what is there when the daemon starts, see the manual.',
    ),
    defaultAgent: name(DEFAULTS.defaultAgent, 'The agent of a task that names none.'),
    depth: group(
      {
        orchestrator: count(0, 20, depth.orchestrator, 'Below the orchestrator; a plan’s task is 1.'),
        standalone: count(0, 20, depth.standalone, 'Below a standalone agent or a chat.'),
      },
      'How deep tasks may be nested.',
    ),
    children: group(
      {
        total: count(0, 1_000_000, children.total, 'Of one session, in all.'),
        open: count(0, 1_000_000, children.open, 'Of one session, at once.'),
        perMinute: count(0, 1_000_000, children.perMinute, 'Spawned by one session in a minute.'),
        planned: count(0, 1_000_000, children.planned, 'In the plans of one orchestrator, in all.'),
      },
      'How many subtasks a session may have.',
    ),
    concurrency: count(1, 10_000, DEFAULTS.concurrency, 'Turns that may be executing at once on this host.'),
    maxUpdates: count(1, 1_000_000, DEFAULTS.maxUpdates, 'Undelivered progress messages kept one by one.'),
    sweepEveryMs: ms(DEFAULTS.sweepEveryMs, 'How often mailboxes are looked at without being asked to.', 100),
    health: group(
      {
        inactiveAfterMs: ms(health.inactiveAfterMs, 'A worker that does nothing for so long is asked.'),
        graceMs: ms(health.graceMs, 'Waited before it is asked.'),
        inquiryTimeoutMs: ms(health.inquiryTimeoutMs, 'How long it has to answer.'),
        stuckAfterMs: ms(
          health.stuckAfterMs,
          'No sign of life for so long: it is shown as silent, its owner is told, and a task of yours is in your inbox.',
        ),
        progressEveryMs: ms(health.progressEveryMs, 'How often the owner gets a progress report.'),
        sameCalls: count(2, 10_000, health.sameCalls, 'The same call so often: it is said to loop.'),
        fruitlessCalls: count(
          2,
          10_000,
          health.fruitlessCalls,
          'So many calls without anything new: it loops.',
        ),
        errorStreak: count(2, 10_000, health.errorStreak, 'So many errors in a row are told to the owner.'),
      },
      'When a worker is asked how it is.',
    ),
    budgets: group(
      {
        unpriced: choice(
          ['estimate', 'allow', 'stop'],
          DEFAULTS.budgets.unpriced,
          'Where money is limited and nobody knows the price: count an estimate (usdPerMillion), go on and count no money, or end the run.',
        ),
        callTokens: count(
          1,
          10_000_000,
          DEFAULTS.budgets.callTokens,
          'Tokens that one call counts as, until its backend says what it used. Some never do.',
        ),
        usdPerMillion: z
          .number()
          .min(0)
          .max(10_000)
          .default(DEFAULTS.budgets.usdPerMillion)
          .describe('Dollars that a million tokens of unknown price count as, where money is limited.'),
      },
      'Budgets of plans and tasks.',
    ),
    requests: group(
      {
        passOnAfterMs: ms(
          requests.passOnAfterMs,
          'An agent that does not answer in time passes a question on.',
        ),
        expireAfterMs: z
          .number()
          .int()
          .min(1_000)
          .nullable()
          .default(requests.expireAfterMs)
          .describe('When a person’s item expires, to a refusal; null: never.'),
        openPerRun: count(
          1,
          1_000,
          requests.openPerRun,
          'Questions and approvals of one run that may be open at once.',
        ),
      },
      'Questions and approvals.',
    ),
    review: group(
      {
        rounds: count(
          1,
          20,
          DEFAULTS.review.rounds,
          'How often an agent may look at the same work; then you decide.',
        ),
      },
      'Review of work before it counts as completed.',
    ),
    orphans: choice(['cancel', 'hand_up'], DEFAULTS.orphans, 'What becomes of children whose parent ended.'),
    orchestrator: choice(
      ['model', 'policy'],
      DEFAULTS.orchestrator,
      'Who decides about plans made of goals: the orchestrator’s model, or a policy: retry by class of error, then your inbox.',
    ),
    patienceMs: ms(
      DEFAULTS.patienceMs,
      'How long a blocking call waits before it says "you will be woken"; twelve times that if its client asks for signs of life.',
    ),
    steer: switched(DEFAULTS.steer, 'Give mail to a busy agent between two calls, not only after its turn.'),
  },
  'What the engine decides by.',
);

const Daemon = group(
  {
    connections: count(
      8,
      10_000,
      1_000,
      'Connections at once, of callers that are known; a quarter is kept for you.',
    ),
    newConnections: count(
      8,
      10_000,
      100,
      'Connections at once that have not said who calls; one more ends the oldest.',
    ),
    newHeadersMs: ms(2_000, 'Within which a new connection must have sent its first request’s head.', 100),
    runConnections: count(1, 10_000, 64, 'Connections at once of one run.'),
    runOpenCalls: count(1, 10_000, 64, 'Calls of one run that are not answered yet; more are refused.'),
    runCallsPerSecond: count(
      1,
      100_000,
      30,
      'Calls of one run in a second, in the long run; five times as many at once.',
    ),
    headersMs: ms(10_000, 'Within which the head of a later request must have arrived.', 100),
    requestMs: ms(30_000, 'Within which a whole request must have arrived.', 100),
    keepAliveMs: ms(60_000, 'How long an unused connection is kept.', 100),
    bodyBytes: count(1_024, 2 ** 30, 2 ** 20, 'How large a request may be.'),
    largeBodyBytes: count(
      1_024,
      2 ** 30,
      10 * 2 ** 20,
      'How large one may be that carries a plan or a result.',
    ),
    runBodyBytes: count(
      1_024,
      2 ** 30,
      4 * 2 ** 20,
      'How large a request of a run may be, and all together that it is sending.',
    ),
    answerMs: ms(120_000, 'After which a call that does not wait for anybody is given up.', 100),
    batchMs: ms(50, 'Events that come within this time are sent together.'),
    heartbeatMs: ms(15_000, 'How often an open stream or a waiting call says that it lives.', 10),
    bufferBytes: count(1_024, 2 ** 30, 2 ** 20, 'What may wait for a reader that is slow.'),
    stallMs: ms(30_000, 'A reader that takes nothing for so long is cut off; it can go on where it was.', 10),
    drainMs: ms(5_000, 'On a stop, how long turns that are executing may come to their end.'),
    stopMs: ms(10_000, 'On a stop, how long agents have to end; then they are left to the next start.'),
    restart: switched(true, 'Start the daemon again when it dies, with nobody at the terminal.'),
  },
  'The daemon itself.',
);

const Worktrees = group(
  {
    home: z
      .string()
      .regex(/^\//, 'must be an absolute path')
      .max(4_096)
      .nullable()
      .default(null)
      .describe('Where worktrees are made; null: beside the repository, in <root>.worktrees.'),
    branchPrefix: name('reveille', 'What the names of branches begin with.'),
    kind: choice(['clone', 'linked'], 'clone', 'A clone that shares objects, or a worktree as git knows it.'),
    dirty: maybe(
      DirtyPolicy,
      'What becomes of uncommitted changes in your checkout when work starts from it: fail, head (left out), snapshot (part of what it starts from); null: you are asked in a terminal, a chat uses snapshot, everything else fails. --dirty says otherwise.',
    ),
    pool: count(0, 100, 1, 'How many worktrees are kept ready.'),
    copy: texts('Further patterns, as in .gitignore, of ignored files that every worktree gets.'),
    copyLimit: count(0, 2 ** 40, 64 * 2 ** 20, 'Bytes of ignored files that are copied, together.'),
    setup: z
      .strictObject({
        command: z.string().min(1).max(10_000).describe('Run in the sandbox.'),
        lockFiles: texts('Files whose content decides whether it has to run again; empty: the usual ones.'),
        movable: switched(false, 'What it leaves still works when the folder is moved.'),
      })
      .nullable()
      .default(null)
      .describe('Must pass before an agent starts.'),
    ports: group(
      {
        first: count(1_024, 65_535, 20_000, 'The first port.'),
        last: count(1_024, 65_535, 31_999, 'The last port.'),
        each: count(1, 1_000, 10, 'How many each worktree gets.'),
      },
      'Ports that worktrees are given.',
    ),
    snapshots: group(
      {
        days: count(0, 36_500, 90, 'So old, they go; null: never.').nullable(),
        newest: count(0, 1_000, 0, 'Of each worktree, so many stay, however old.'),
      },
      'How long snapshots of tasks that are over are kept. Those of other tasks stay.',
    ),
  },
  'The checkouts that agents work in.',
);

const Sandbox = group(
  {
    mode: choice(
      ['require', 'warn', 'off'],
      'warn',
      'Without a sandbox: refuse, warn and go on; or never use one.',
    ),
    network: choice(['on', 'off', 'list'], 'on', 'What agents’ commands may reach; list: the hosts below.'),
    hosts: texts('Hosts that may be reached; *.example.org for those below it.'),
    reads: paths('Further paths that may be read; ~/ is the home.'),
    writes: paths('Further paths that may be written.'),
    memoryMb: z
      .number()
      .int()
      .min(64)
      .max(100_000_000)
      .nullable()
      .default(null)
      .describe('Memory that all processes of one run may take together; null: half of this machine’s.'),
    processes: count(16, 1_000_000, 4_096, 'Processes that one run may have at once.'),
    diskMb: count(64, 100_000_000, 51_200, 'What one run may write to disk before it is ended.'),
    audit: choice(
      ['unconfined', 'always', 'off'],
      'unconfined',
      'When a change of the person’s checkout during a turn stops the run: where no sandbox holds, always, never.',
    ),
  },
  'What agents’ processes can see and touch.',
);

const Navigation = group(
  {
    enabled: switched(true, 'Agents have the tools of navigation.'),
    memoryMb: count(128, 1_000_000, 3_072, 'What all language servers of all worktrees may use together.'),
    idleMs: ms(600_000, 'A language server that nobody asks for so long is ended.', 1_000),
    servers: z
      .record(z.string().max(40), z.array(z.string().min(1).max(4_096)).min(1).max(100))
      .default({})
      .describe(
        'Commands of language servers, by language: {"python": ["basedpyright-langserver", "--stdio"]}.',
      ),
  },
  'Where symbols are: language servers.',
);

const Governor = group(
  {
    enabled: switched(true, 'No agent is started without room for it on this host.'),
    reserveMb: count(0, 10_000_000, 512, 'Memory that is never handed out to agents.'),
    maxLoad: z
      .number()
      .min(0.1)
      .max(1_000)
      .nullable()
      .default(4)
      .describe('Load per core at which no further agent is started; null: any.'),
    minDiskMb: count(0, 100_000_000, 500, 'Free disk space below which nothing new is started.'),
    lookMs: ms(3_000, 'How often the host and its agents are looked at.', 100),
  },
  'A host that is not overrun.',
);

export const Config = z.strictObject({
  engine: Engine,
  governor: Governor,
  daemon: Daemon,
  worktrees: Worktrees,
  sandbox: Sandbox,
  approvals: Approvals,
  acp: Acp,
  backends: Backends,
  prices: Prices,
  navigation: Navigation,
  integration: group(
    {
      onConflict: choice(
        ['ask', 'resolve'],
        'ask',
        'A branch that does not merge, or makes the check fail: the owner is asked, or an agent is to resolve it first.',
      ),
    },
    'How branches are merged at the end of a plan.',
  ),
  notify: group(
    {
      desktop: choice(
        ['auto', 'on', 'off'],
        'auto',
        'Notices of what waits for you, by notify-send or osascript; auto: where there is a desktop.',
      ),
      bell: switched(true, 'The terminal rings when something you watch comes to wait for you.'),
    },
    'How you are told of your inbox.',
  ),
  logs: group(
    {
      level: choice(['debug', 'info', 'warn', 'error'], 'info', 'The least that is written.'),
      maxBytes: count(10_000, 2 ** 30, 10 * 2 ** 20, 'How large a file becomes before a new one is begun.'),
      maxFiles: count(1, 100, 5, 'How many files are kept.'),
    },
    'The log of the daemon.',
  ),
});

type Frozen<T> = T extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;
export type Config = Frozen<z.output<typeof Config>>;

/** What the engine is set by is what can be set: this fails to compile if one has a key that the other lacks. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
/** The one that the daemon finds if nobody sets it. */
type Found = { readonly defaultBackend: string | null };
const complete: Same<Config['engine'], Omit<Settings, 'defaultBackend'> & Found> = true;
void complete;

export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(Config, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'Reveille configuration', ...rest };
}
