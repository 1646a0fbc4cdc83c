import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about calls whose answers travel. */
export const BUGS_OF_CALLS: readonly PlantedBug[] = [
  {
    name: 'any-call-proves-every-answer',
    invariant: 'ends',
    file: core('agent-line.ts'),
    find: `      if ((road !== 'turn' && road !== by) || !hadArrived(handOver, began)) continue;
`,
    replace: `      if (road !== 'turn' && road !== by) continue;
`,
    why: 'a parallel call makes mail read whose answer then breaks off, and a dead agent is not given it again',
  },
  {
    name: 'any-call-of-a-chat-proves-every-answer',
    invariant: 'ends',
    file: core('host.ts'),
    find: `.filter((call) => hadArrived(call, began));
`,
    replace: `;
`,
    why: 'as above, for a chat',
  },
  {
    name: 'unsent-answer-counts-at-the-end-of-the-turn',
    invariant: 'ends',
    file: core('agent-line.ts'),
    find: `    return inHand ? hadArrived(inHand.handOver, moment) : (`,
    replace: `    return inHand ? moment > 0 : (`,
    why: 'a turn or a run that ends while an answer is on its way counts its mail as read',
  },
  {
    name: 'lost-answer-gives-nothing-back',
    invariant: 'liveness',
    file: core('host.ts'),
    find: `    await putBack(this.context, messages, 'unknown');
  }

  /** The conn`,
    replace: `  }

  /** The conn`,
    why: 'mail of a chat whose answer broke off stays delivered for ever',
  },
  {
    name: 'abandoned-await-keeps-mail',
    invariant: 'liveness',
    file: core('calls.ts'),
    find: `      if (this.#answered) return await putBack(this.#context, taken.messages, 'no');
`,
    replace: `      if (this.#answered) return;
`,
    why: 'an await that was given up while it looked keeps what it took until the turn ends',
  },
];
