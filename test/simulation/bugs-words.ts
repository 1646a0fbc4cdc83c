import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about what is on disk, what is told, and when. */
export const BUGS_OF_WORDS: readonly PlantedBug[] = [
  {
    name: 'ack-before-commit',
    invariant: 'durable',
    file: core('decide.ts'),
    find: `      const outcome = await made.committing;
      if (!outcome.committed) continue;
`,
    replace: `      made.committing.catch(() => undefined);
`,
    why: 'callers are answered and sessions woken while the commit is still on its way',
  },
  {
    name: 'answer-without-barrier',
    invariant: 'durable',
    file: core('decide.ts'),
    find: `      await context.store.barrier();
`,
    replace: '',
    why: 'a call that changes nothing tells of what it read before that is on disk',
  },
  {
    name: 'hand-over-before-commit',
    invariant: 'durable',
    file: core('receiver.ts'),
    find: `    return take(tx, queued, { by: 'receiver', id, run: null, epoch: 0 });
`,
    replace: `    const taken = take(tx, queued, { by: 'receiver', id, run: null, epoch: 0 });
    if (taken.length > 0) await this.#hand(taken);
    return taken;
`,
    why: 'a chat is given its mail before it is recorded that it was: a crash in between gives it again, unmarked',
  },
  {
    name: 'store-acks-before-disk',
    invariant: 'durable',
    file: 'packages/stores/src/memory/open.ts',
    find: `    if (batch) return batch.add(change, outcome);
`,
    replace: `    if (batch) {
      void batch.add(change, outcome).catch(() => undefined);
      return Promise.resolve(outcome);
    }
`,
    why: 'the store says committed when it is only applied',
  },
  {
    name: 'end-in-two-commits',
    invariant: 'ends',
    file: core('settle.ts'),
    find: `  await tellOwner(tx, context, task, { run, request, moves });
`,
    replace: `  context.clock.after(3, () => {
    void import('./decide.ts').then(({ decide }) => decide(context, (next) => tellOwner(next, context, task, { run, request, moves })));
  });
`,
    why: 'the run ends in one change and the parent is told in another: a crash in between loses the end',
  },
  {
    name: 'read-when-answered',
    invariant: 'ends',
    file: core('agent-line.ts'),
    find: `    this.#put(messages, { road: 'call', handOver: call });
`,
    replace: `    for (const { id } of messages) this.proven.set(id, call);
    this.#holder.poke();
`,
    why: 'a message counts as read when it is handed over, not when the agent shows that it has it',
  },
  {
    name: 'given-back-unmarked',
    invariant: 'ends',
    file: core('mailbox.ts'),
    find: `(seen === 'unknown' ? 1 : 0)`,
    replace: `0`,
    why: 'a message is given again without a word that it may have been seen',
  },
  {
    name: 'second-attempt-is-a-duplicate',
    invariant: 'ends',
    file: core('settle.ts'),
    find: `    key: run ? \`end:\${run.id}\` : \`end:\${task.id}:\${newId(context, 'msg')}\`,
    kind: 'end',
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    run: run?.id ?? null,
    request,
    text: run ? '' : task.why,
    moves,
    urgent: task.state === 'failed',
    fresh: true,
`,
    replace: `    key: \`end:\${task.id}\`,
    kind: 'end',
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    run: run?.id ?? null,
    request,
    text: run ? '' : task.why,
    moves,
    urgent: task.state === 'failed',
`,
    why: 'ends are keyed by task: the end of a retried task is taken for one already told',
  },
  {
    name: 'progress-swallows-an-end',
    invariant: 'mail',
    file: core('mailbox.ts'),
    find: `  const updates = queued.filter((message) => INFORMATIONAL.has(message.kind));
`,
    replace: `  const updates = queued;
`,
    why: 'a full mailbox folds ends and questions away with the progress',
  },
  {
    name: 'half-a-batch',
    invariant: 'mailbox order',
    file: core('run-acts.ts'),
    find: `  const messages = take(tx, queued, { by: 'turn', id: \`\${run.id}/\${number}\``,
    replace: `  const messages = take(tx, queued.slice(0, 1), { by: 'turn', id: \`\${run.id}/\${number}\``,
    why: 'a turn opens with the first message and leaves the others',
  },
  {
    name: 'newest-first',
    invariant: 'mailbox order',
    file: core('mailbox.ts'),
    find: `Number(b.urgent) - Number(a.urgent) || a.number - b.number`,
    replace: `Number(b.urgent) - Number(a.urgent) || b.number - a.number`,
    why: 'messages come in the wrong order',
  },
  {
    name: 'gaps-in-the-events',
    invariant: 'fold',
    file: 'packages/stores/src/memory/tables.ts',
    find: `number: this.#events.length + 1, at,`,
    replace: `number: this.#events.length + (facts.length > 6 ? 2 : 1), at,`,
    why: 'event numbers are skipped or come twice',
  },
  {
    name: 'event-forgotten',
    invariant: 'fold',
    file: core('facts.ts'),
    find: `  if (before.state === after.state && before.waitingOn === after.waitingOn) return;
`,
    replace: `  if (before.state === after.state || after.state === 'ready') return;
`,
    why: 'a task becomes ready and no event says so',
  },
  {
    name: 'neighbours-undone',
    invariant: 'durable',
    file: 'packages/stores/src/apply.ts',
    find: `      rows.undoTo(mark);
      return false;
`,
    replace: `      rows.undoTo(0);
      return false;
`,
    why: 'one failed guard undoes the other changes of the same commit',
  },
  {
    name: 'timer-early-after-a-jump',
    invariant: 'health',
    file: core('engine.ts'),
    find: `    const before = first ? Math.max(0, this.context.clock.now() - request.movedAt) : 0;
`,
    replace: `    const before = Math.max(0, this.context.clock.now() - request.movedAt) + (first ? 0 : 0);
`,
    why: 'the wall clock jumps and a request is passed on that was asked a moment ago',
  },
  {
    name: 'silence-by-the-wall-clock',
    invariant: 'health',
    file: core('silence.ts'),
    find: `  const mono = context.awake.ms;
  if (vitals`,
    replace: `  const mono = context.awake.ms + (context.clock.now() % 7 === 0 ? inquiryTimeoutMs : 0);
  if (vitals`,
    why: 'an agent is given up as unresponsive before its time',
  },
  {
    name: 'timeout-without-waiting',
    invariant: 'calls',
    file: core('calls.ts'),
    find: `  cleanups.push(context.clock.after(options.timeoutMs, timeUp));
`,
    replace: `  cleanups.push(context.clock.after(options.timeoutMs / 2, timeUp));
`,
    why: 'a call gives up before its time',
  },
];
