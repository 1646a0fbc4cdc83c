import { command } from '../command/spec.ts';
import { UsageError } from '../usage.ts';

const MOMENTS = ['stop', 'prompt', 'tool'] as const;
/** A day: whoever wants to go on before interrupts the chat, which ends the wait. */
const WAIT_SECONDS = 86_400;

export const hook = command({
  name: 'hook',
  group: 'Begin',
  summary: 'gives a chat of Claude Code what came for it; for its hooks',
  usage: '<moment>',
  about: `The moment is stop, prompt or tool; the hooks of the plugin call it so. At a stop a chat that has subtasks at work is
held until one of them has something to say, and goes on with that; at the other moments it is given what is there. The chat
is the one that also started \`reveille mcp\`. Whatever goes wrong, the chat is let go: the exit code is 0.`,
  options: {
    wait: { type: 'string', value: 'SECONDS', means: `how long a chat is held; ${WAIT_SECONDS} unless told` },
  },
  json: 'what it prints anyway: the answer of a hook, or nothing.',
  async run({ io, args, options }) {
    const moment = MOMENTS.find((word) => word === args[0]);
    if (!moment) throw new UsageError(`The moment is one of ${MOMENTS.join(', ')}.`, 'hook');
    const seconds = Number(options.wait ?? WAIT_SECONDS);
    if (!(seconds >= 0 && seconds <= WAIT_SECONDS))
      throw new UsageError(`--wait takes seconds, from 0 to ${WAIT_SECONDS}.`, 'hook');
    using interruption = io.interruption();
    try {
      const chat = await import('../chat/hook.ts');
      await chat.hook({ io, moment, waitMs: seconds * 1_000, signal: interruption.signal });
    } catch (error) {
      // A chat must not suffer from it; whoever looks for the reason sets REVEILLE_DEBUG.
      if (io.env['REVEILLE_DEBUG']) io.err.write(`${String(error)}\n`);
    }
    return 0;
  },
});
