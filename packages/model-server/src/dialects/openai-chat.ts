import { randomBytes } from 'node:crypto';
import { joined, type Answer, type Conversation, type Heard } from '../conversation.ts';
import { fields, list, pieces, textOf, words, type Fields } from '../json.ts';
import { dataOf, type Dialect } from './dialect.ts';
import { created, refusal } from './openai.ts';

/** OpenAI's chat completions, which most other vendors and local servers speak too. */
export const openaiChat: Dialect = {
  name: 'openai-chat',
  read(body) {
    return {
      model: words(body['model']),
      messages: joined(list(body['messages']).flatMap((message) => heard(fields(message)))),
      tools: list(body['tools']).map((tool) => ({ name: words(fields(fields(tool)['function'])['name']) })),
      stream: body['stream'] === true,
      wantsJson: words(fields(body['response_format'])['type']).startsWith('json'),
    };
  },
  whole: (answer, asked) => ({
    ...envelope(asked, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.end === 'refusal' ? null : answer.say,
          refusal: answer.end === 'refusal' ? answer.say : null,
          ...(answer.think === '' ? {} : { reasoning_content: answer.think }),
          ...(answer.calls.length > 0 ? { tool_calls: calls(answer) } : {}),
        },
        finish_reason: FINISH[answer.end],
      },
    ],
    usage: usageOf(answer),
  }),
  *pieces(answer, asked) {
    const head = envelope(asked, 'chat.completion.chunk');
    const piece = (delta: Fields, finish: string | null = null): string =>
      dataOf({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
    yield piece({ role: 'assistant', content: '' });
    for (const part of pieces(answer.think)) yield piece({ reasoning_content: part });
    for (const part of pieces(answer.say))
      yield piece(answer.end === 'refusal' ? { refusal: part } : { content: part });
    for (const [index, call] of calls(answer).entries()) {
      yield piece({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: '' } }] });
      for (const part of pieces(call.function.arguments))
        yield piece({ tool_calls: [{ index, function: { arguments: part } }] });
    }
    yield piece({}, FINISH[answer.end]);
    yield dataOf({ ...head, choices: [], usage: usageOf(answer) });
    yield 'data: [DONE]\n\n';
  },
  refuse: (failure, { model }) => refusal(failure, model),
};

const FINISH = { done: 'stop', calls: 'tool_calls', cut: 'length', refusal: 'content_filter' } as const;

function heard({ role, content, tool_calls: called }: Fields): Heard[] {
  const text = textOf(content);
  if (role === 'system' || role === 'developer') return [];
  if (role === 'tool') return [{ role, text, calls: [] }];
  if (role !== 'assistant') return [{ role: 'user', text, calls: [] }];
  const calls = list(called).map((call) => {
    const { id, function: made } = fields(call);
    return { id: words(id), name: words(fields(made)['name']) };
  });
  return [{ role, text, calls }];
}

const envelope = ({ model }: Conversation, object: string) => ({
  id: `chatcmpl-${randomBytes(12).toString('hex')}`,
  object,
  created: created(),
  model,
});

const calls = (answer: Answer) =>
  answer.calls.map(({ id, tool, json }) => ({
    id,
    type: 'function',
    function: { name: tool.name, arguments: json },
  }));

const usageOf = ({ usage: { input, output, cached } }: Answer) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
});
