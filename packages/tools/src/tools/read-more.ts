import { ReveilleError } from '@reveille/protocol';
import { z } from 'zod';
import { OUTPUT_CHARS } from '../bound.ts';
import { fence, head } from '../fence.ts';
import { ownerOf } from '../shelf.ts';
import { EVERYBODY, LOOKS, defineTool } from '../tool.ts';

/** Less than an output may have, so that what is read on is not cut again. */
const MOST = OUTPUT_CHARS - 5_000;

export const readMore = defineTool({
  name: 'read_more',
  title: 'Read the rest of a long output',
  description: [
    'Gives you the rest of an output that was cut, by the token that came with it. `offset` is where to go on. If it was forgotten meanwhile, make the first call again.',
  ],
  input: z.strictObject({
    token: z.string().regex(/^out_[0-9a-f]{24}$/, 'expected the token of a cut output, like "out_…"'),
    offset: z.int().min(0).default(0),
    limit: z.int().min(100).max(MOST).default(MOST).describe('Characters.'),
  }),
  output: z.object({ text: z.string(), next: z.number().nullable(), total: z.number() }),
  annotations: LOOKS,
  callers: EVERYBODY,
  always: EVERYBODY,
  async run({ token, offset, limit }, world) {
    const whole = world.outputs.read(ownerOf(world.caller), token);
    if (whole === null)
      throw new ReveilleError(
        'not_found',
        'This output is no longer kept. Make the call it came from again.',
      );
    const most = Math.min(limit, Math.floor((world.outputChars ?? OUTPUT_CHARS) * 0.7));
    const part = head(whole.slice(offset), most);
    const end = offset + part.length;
    const next = end < whole.length ? end : null;
    // It may hold words of others, with fences that begin or end elsewhere: all of it is data.
    const text = fence(token, part.toWellFormed());
    const rest =
      next === null ? 'That is all of it.' : `For the rest: read_more {"token":"${token}","offset":${next}}`;
    const where = `Characters ${offset} to ${end} of ${whole.length}:`;
    return { structured: { text, next, total: whole.length }, text: `${where}\n${text}\n${rest}` };
  },
});
