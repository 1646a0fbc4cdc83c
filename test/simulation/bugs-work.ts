import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about who works on what, how far it goes, and what it may use. */
export const BUGS_OF_WORK: readonly PlantedBug[] = [
  {
    name: 'late-word-of-an-old-epoch',
    invariant: 'one agent',
    file: core('authority.ts'),
    find: `  if (run.epoch !== caller.epoch)
    return \`run \${run.id} went on under epoch \${run.epoch}, yours is \${caller.epoch}\`;
`,
    replace: '',
    why: 'an agent that was given up closes the run its successor is at work on',
  },
  {
    name: 'ended-run-is-written',
    invariant: 'transitions',
    file: core('holding.ts'),
    find: `  if (!run || run.state === 'ended' || run.epoch !== epoch) return null;
`,
    replace: `  if (!run || run.epoch !== epoch) return null;
`,
    why: 'a cancel, a fault or a turn end that races the report settles the run a second time',
  },
  {
    name: 'budget-given-back-twice',
    invariant: 'budgets',
    file: core('budget.ts'),
    find: `    tx.put('budget', { ...node, reserved: Object.fromEntries(left) });
`,
    replace: `    const back = Object.entries(node.reserved).filter(([key]) => key.startsWith(prefix));
    const tokens = back.reduce((sum, [, amounts]) => sum + (amounts.tokens ?? 0), 0);
    const used = { ...node.used, tokens: node.used.tokens - tokens };
    tx.put('budget', { ...node, used, reserved: Object.fromEntries(left) });
`,
    why: 'what was reserved is taken off the reserved and off the used',
  },
  {
    name: 'budget-never-given-back',
    invariant: 'budgets',
    file: core('settle.ts'),
    find: `    if (task.budget) await release(tx, task.budget, \`\${run.id}/\`);
`,
    replace: '',
    why: 'what a run had reserved stays reserved after its end',
  },
  {
    name: 'budget-ignores-reservations',
    invariant: 'budgets',
    file: core('budget.ts'),
    find: `    const total = node.used[key] + reserved + (more[key] ?? 0);
`,
    replace: `    const total = node.used[key] + 0 * reserved + (more[key] ?? 0);
`,
    why: 'two agents reserve the same tokens',
  },
  {
    name: 'usage-lost-during-a-commit',
    invariant: 'budgets',
    file: core('worker-run.ts'),
    find: `usage: [...line.usage] };`,
    replace: `usage: line.usage };`,
    why: 'usage that is reported while earlier usage is being recorded is thrown away with it',
  },
  {
    name: 'cancel-stops-at-the-first-level',
    invariant: 'cancelled trees',
    file: core('settle.ts'),
    find: `  for (const child of await tx.list('task', { list: 'openByOwner', equal: [task.session, 1] })) {
    count +=`,
    replace: `  for (const child of [] as Task[]) {
    count +=`,
    why: 'children of a cancelled parent go on, and spawn, until it has stopped',
  },
  {
    name: 'cancel-not-recorded',
    invariant: 'cancelled trees',
    file: core('settle.ts'),
    find: `  tx.put('task', { ...task, cancelling: { ...wish, at: tx.now } });
`,
    replace: '',
    why: 'a cancel is only a wake: whoever misses it goes on and spawns',
  },
  {
    name: 'orphans-run-on',
    invariant: 'cancelled trees',
    file: core('settle.ts'),
    find: `  if (session.childrenOpen > 0) await endChildren(tx, context, session, task);
`,
    replace: '',
    why: 'a parent ends and its running children are left to themselves',
  },
  {
    name: 'two-steps-at-once',
    invariant: 'one agent',
    file: core('stepper.ts'),
    find: `    if (this.#stepping || this.#closed) return;
`,
    replace: `    if (this.#closed) return;
`,
    why: 'a sweep and a wake both look, and both start what they find: two turns, two agents',
  },
  {
    name: 'second-process',
    invariant: 'one agent',
    file: core('worker-run.ts'),
    find: `    if (reap !== null) await this.#context.executors.get(begun.run.on ?? this.#backend)?.reap(reap);
`,
    replace: '',
    why: 'a resume starts a second process while the first still lives',
  },
  {
    name: 'orphans-of-an-earlier-life',
    invariant: 'one agent',
    file: core('engine.ts'),
    find: `    await this.context.executors.reapAll?.();
`,
    replace: '',
    why: 'another host went on with the task and forgot the agent that lives here: a second one is started beside it',
  },
  {
    name: 'lost-lease-ignored',
    invariant: 'one agent',
    file: core('scheduler.ts'),
    find: `    return this.#context.clock.mono() - this.#lastRenewed >= LEASE.lastsMs - LEASE.renewEveryMs;
`,
    replace: `    return false;
`,
    why: 'a host that cannot renew keeps its agents at work while another takes over',
  },
  {
    name: 'agent-outlives-its-run',
    invariant: 'processes',
    file: core('worker-run.ts'),
    find: `    await this.line.stop('the run has ended');
`,
    replace: '',
    why: 'the agent of a run that has ended is not stopped',
  },
  {
    name: 'no-recovery',
    invariant: 'liveness',
    file: core('engine.ts'),
    find: `    await this.context.dispatch.reclaim(this.context.host);
`,
    replace: '',
    why: 'a host that restarts keeps the leases of its earlier life, and nobody is at work on them',
  },
  {
    name: 'no-sweep',
    invariant: 'liveness',
    file: core('engine.ts'),
    find: `      this.context.wake((await this.context.store.sessionsWithMail(SWEEP_LIMIT)) as SessionId[]);
`,
    replace: '',
    why: 'a wake that is lost is lost for good',
  },
  {
    name: 'wake-while-busy-forgotten',
    invariant: 'liveness',
    file: core('stepper.ts'),
    find: `    this.#again = true;
    if (this.#stepping || this.#closed) return;
`,
    replace: `    if (this.#stepping || this.#closed) return;
    this.#again = true;
`,
    why: 'a wake that comes while somebody looks does not make them look again',
  },
  {
    name: 'chat-mail-stuck',
    invariant: 'liveness',
    file: core('engine.ts'),
    find: `    await this.#takeBackCalls();
`,
    replace: '',
    why: 'what a chat was being given when the engine died is never given again',
  },
  {
    name: 'slots-held-by-waiting-parents',
    invariant: 'liveness',
    file: core('worker-run.ts'),
    find: `(this.line.turn !== null && !this.#blocked.waitsIn(this.line.turn))`,
    replace: `this.line.turn !== null`,
    why: 'parents that wait in calls hold the slots their children need',
  },
  {
    name: 'slots-ignored',
    invariant: 'limits',
    file: core('scheduler.ts'),
    find: `    const free = settings.concurrency - this.#executing();
`,
    replace: `    const free = settings.concurrency - this.#executing() + 1;
`,
    why: 'one more is started than the host allows',
  },
  {
    name: 'depth-off-by-one',
    invariant: 'limits',
    file: core('limits.ts'),
    find: `  if (depth > max)
`,
    replace: `  if (depth > max + 1)
`,
    why: 'a chain may be one deeper than the limit',
  },
  {
    name: 'children-miscounted',
    invariant: 'limits',
    file: core('settle.ts'),
    find: `    tx.put('session', { ...owner, childrenOpen: owner.childrenOpen - 1 });
  }
  await enqueue`,
    replace: `    if (task.state !== 'cancelled') tx.put('session', { ...owner, childrenOpen: owner.childrenOpen - 1 });
  }
  await enqueue`,
    why: 'a cancelled child still counts as open',
  },
  {
    name: 'started-too-early',
    invariant: 'dependencies',
    file: core('graph.ts'),
    find: `  if (task.state !== 'pending' || task.openDependencies > 0) return false;
`,
    replace: `  if (task.state !== 'pending' || task.openDependencies > 1) return false;
`,
    why: 'a task starts when all but one of its dependencies have completed',
  },
  {
    name: 'retry-does-not-unblock',
    invariant: 'plan status',
    file: core('task-acts.ts'),
    find: `  await unblockDependents(tx, pending);
`,
    replace: '',
    why: 'what was blocked by a failure stays so when it is tried again',
  },
  {
    name: 'plan-fails-with-its-first-task',
    invariant: 'plan status',
    file: core('plan-status.ts'),
    find: `  if (open > 0) return plan.state === 'paused' ? 'paused' : 'active';
`,
    replace: `  if (open > 0 && !counts['failed']) return plan.state === 'paused' ? 'paused' : 'active';
`,
    why: 'a plan is called failed while some of it can still run',
  },
  {
    name: 'offers-are-not-heard',
    invariant: 'hints',
    file: core('scheduler.ts'),
    find: `context.dispatch.onOffer(() => this.kick());`,
    replace: `context.dispatch.onOffer(() => undefined);`,
    why: 'every task waits for the next tick, up to a second',
  },
  {
    name: 'stopped-and-kept',
    invariant: 'hints',
    file: core('scheduler.ts'),
    find: `      this.#fenced.add(run.taskId);
      this.kick();
`,
    replace: '',
    why: 'what a host stopped because it may have lost it stays its own, and nobody goes on with it',
  },
  {
    name: 'slow-start-claims-nothing',
    invariant: 'hints',
    file: core('scheduler.ts'),
    find: `    this.#lastRenewed = this.#context.clock.mono();
    this.kick();
`,
    replace: `    this.kick();
`,
    why: 'a host whose start took long takes it that it lost its leases, and claims nothing before the next tick',
  },
];
