import { LENGTHS, nextSteps, type ReportResult } from '@reveille/protocol';
import { z } from 'zod';
import { callKey } from '../call-key.ts';
import { ACTS, WORKERS, defineTool, type RunWorld, type ToolOutput } from '../tool.ts';
import { Update, updateOf, updatesText } from '../updates.ts';

const text = z.string().max(LENGTHS.text);

const Reported = z.object({
  accepted: z.boolean(),
  why: z.enum(['open_children', 'unread_ends', 'invalid_result']).nullable(),
  open: z.array(z.string()),
  updates: z.array(Update),
  problems: z.array(z.string()),
});

export const subtaskComplete = defineTool({
  name: 'a2a_subtask_complete',
  title: 'Report your task as done',
  description: [
    'Reports how your own task ended. This is your last act: it ends your run, what you have not committed is committed for you on your branch, and nothing you do afterwards counts.',
    '`output` is all that whoever asked gets: the answer or what you did, in full and first; then what you checked and how; then what is not done or unsure.',
    '"success": all that was asked for is done and checked. "partial": a useful part is. "failed": neither; say why in `error`.',
    'It is refused while subtasks of yours are open (wait for them, cancel them, or set giveUpChildren) or have ended unread (you are given them then: consider them, and report again).',
  ],
  input: z.strictObject({
    status: z.enum(['success', 'partial', 'failed']),
    output: text.describe('The report, complete in itself.'),
    structured: z.unknown().optional().describe('The structured result, if your task asks for one.'),
    error: text.optional().describe('For "failed": what stood in the way.'),
    giveUpChildren: z.boolean().default(false).describe('Cancel subtasks that are still open.'),
  }),
  output: Reported,
  annotations: ACTS,
  callers: WORKERS,
  always: WORKERS,
  async run({ structured, error, ...report }, world) {
    const result = await world.orchestrator.reportCompletion({
      ...report,
      // It came as JSON; that it fits its schema is the engine's to check.
      ...(structured === undefined ? {} : { structured: structured as never }),
      ...(error === undefined ? {} : { error }),
    });
    return reported(result, world);
  },
});

const NOTHING = { why: null, open: [], updates: [], problems: [] };

function reported(result: ReportResult, world: RunWorld): ToolOutput<z.input<typeof Reported>> {
  if (result.accepted)
    return {
      structured: { ...NOTHING, accepted: true },
      text: 'Accepted. Your run is over: stop here, and call nothing more.',
    };
  const refusal = { ...NOTHING, accepted: false, why: result.code };
  const refused = true;
  switch (result.code) {
    case 'open_children': {
      const words = `Not accepted: subtasks of yours are still open: ${result.open.join(', ')}. Wait for them (a2a_await_subtasks), cancel them (a2a_cancel_subtask), or report again with "giveUpChildren": true.`;
      return { structured: { ...refusal, open: [...result.open] }, text: words, refused };
    }
    case 'unread_ends': {
      const where = result.deliveries.length > 0 ? 'Here it is' : 'It is given to you now';
      const words = `Not accepted yet: subtasks of yours had ended and you had not read how. ${where}; consider it, then report again.`;
      const lines = [words, updatesText(result.deliveries), ...nextSteps(result.deliveries, world.has)];
      return {
        structured: { ...refusal, updates: result.deliveries.map(updateOf) },
        text: lines.join('\n'),
        refused,
      };
    }
    case 'invalid_result': {
      const words = `Not accepted: the \`structured\` result does not fit the schema of your task:\n${result.problems.map((problem) => `  ${problem}`).join('\n')}\nReport again with one that does.`;
      return { structured: { ...refusal, problems: [...result.problems] }, text: words, refused };
    }
    default:
      return result satisfies never;
  }
}

export const notifyParent = defineTool({
  name: 'a2a_notify_parent',
  title: 'Tell or ask whoever gave you the task',
  description: [
    'Sends word to your parent. "question": you need an answer. "approval_request": before something that cannot be undone. "error": something stands in your way. "progress", "info": news.',
    'Ask early, one thing at a time, with the choices you see and the one you would take; not what you can find out by reading. Then do what does not depend on the answer, or end your turn: the answer wakes you.',
    'Example: {"type":"question","message":"Support both formats? I would do only the new one.","options":["both","only the new one"]}',
  ],
  input: z.strictObject({
    type: z.enum(['progress', 'question', 'approval_request', 'error', 'info']),
    message: text.min(1),
    options: z.array(z.string().max(LENGTHS.name)).max(20).default([]).describe('The choices, if any.'),
    freeText: z.boolean().optional().describe('Other answers too.'),
    progress: z.number().min(0).max(100).optional().describe('How much is done, in percent.'),
  }),
  output: z.object({ requestId: z.string().nullable(), message: z.string().nullable() }),
  annotations: ACTS,
  callers: WORKERS,
  always: WORKERS,
  async run({ type, message, options, freeText, progress }, world) {
    const key = callKey(world);
    const words = progress === undefined ? message : `(${Math.round(progress)} %) ${message}`;
    const note = {
      type,
      message: words.slice(0, LENGTHS.text),
      options,
      ...(freeText === undefined ? {} : { freeText }),
      ...(key === undefined ? {} : { key }),
    };
    const sent = await world.orchestrator.notifyParent(note);
    const said = sent.request
      ? `Asked (${sent.request}). The answer comes as a message and wakes you; until then do what does not depend on it, or end your turn.`
      : 'Told.';
    return { structured: { requestId: sent.request, message: sent.message }, text: said };
  },
});
