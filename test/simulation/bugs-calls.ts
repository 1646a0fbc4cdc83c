import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about calls whose answers travel. */
export const BUGS_OF_CALLS: readonly PlantedBug[] = [
  {
    name: 'any-call-proves-every-answer',
    invariant: 'ends',
    within: 4_000,
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
];
