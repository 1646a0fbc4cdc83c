import { randomBytes } from 'node:crypto';
import { joined, type Answer, type Conversation, type Heard } from '../conversation.ts';
import { fields, list, pieces, textOf, words, type Fields } from '../json.ts';
import { STATUS, eventOf, type Dialect, type Refusal, type Refused } from './dialect.ts';

/** Anthropic's Messages. */
export const anthropic: Dialect = {
  name: 'anthropic',
  read(body) {
    return {
      model: words(body['model']),
      messages: joined(list(body['messages']).flatMap((message) => heard(fields(message)))),
      tools: list(body['tools']).map((tool) => ({ name: words(fields(tool)['name']) })),
      stream: body['stream'] === true,
      wantsJson: fields(fields(body['output_config'])['format'])['type'] === 'json_schema',
    };
  },
  whole: (answer, asked) => ({
    ...envelope(asked),
    content: blocks(answer),
    stop_reason: STOP[answer.end],
    usage: { ...usageIn(answer), output_tokens: answer.usage.output },
  }),
  *pieces(answer, asked) {
    const message = { ...envelope(asked), content: [], stop_reason: null };
    yield event('message_start', {
      message: { ...message, usage: { ...usageIn(answer), output_tokens: 1 } },
    });
    for (const [index, block] of blocks(answer).entries()) {
      const json = answer.calls.find((call) => block.type === 'tool_use' && call.id === block.id)?.json ?? '';
      yield event('content_block_start', { index, content_block: started(block) });
      for (const delta of deltas(block, json)) yield event('content_block_delta', { index, delta });
      yield event('content_block_stop', { index });
    }
    const usage = { output_tokens: answer.usage.output };
    yield event('message_delta', { delta: { stop_reason: STOP[answer.end], stop_sequence: null }, usage });
    yield event('message_stop', {});
  },
  refuse: (failure, { model }) => refusal(failure, model),
};

const STOP = { done: 'end_turn', calls: 'tool_use', cut: 'max_tokens', refusal: 'refusal' } as const;

const event = (type: string, data: Fields): string => eventOf(type, { type, ...data });

function heard({ role, content }: Fields): Heard[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content).map(fields);
  if (role === 'assistant') {
    const calls = parts
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name }) => ({ id: words(id), name: words(name) }));
    const text = textOf(parts.filter(({ type }) => type === 'text'));
    return [{ role, text, calls }];
  }
  return parts.map((part) =>
    part['type'] === 'tool_result'
      ? { role: 'tool', text: textOf(part['content']), calls: [] }
      : { role: 'user', text: textOf(part), calls: [] },
  );
}

const envelope = ({ model }: Conversation) => ({
  id: `msg_${randomBytes(12).toString('hex')}`,
  type: 'message',
  role: 'assistant',
  model,
  stop_sequence: null,
});

const usageIn = ({ usage }: Answer) => ({
  input_tokens: usage.input - usage.cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: usage.cached,
});

type Block =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: Fields };

function blocks({ think, say, calls }: Answer): Block[] {
  return [
    ...(think === '' ? [] : [{ type: 'thinking', thinking: think, signature: 'scripted' } as const]),
    ...(say === '' ? [] : [{ type: 'text', text: say } as const]),
    ...calls.map(({ id, tool, input }) => ({ type: 'tool_use', id, name: tool.name, input }) as const),
  ];
}

function started(block: Block): Fields {
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' };
  return block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };
}

function deltas(block: Block, input: string): Fields[] {
  if (block.type === 'text') return pieces(block.text).map((text) => ({ type: 'text_delta', text }));
  if (block.type === 'tool_use')
    return pieces(input).map((json) => ({
      type: 'input_json_delta',
      partial_json: json,
    }));
  return [
    ...pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: block.signature },
  ];
}

const ERRORS: { readonly [F in Refused]: readonly [type: string, words: string] } = {
  rate_limit: ['rate_limit_error', 'This request would exceed your rate limit.'],
  overload: ['overloaded_error', 'Overloaded'],
  server: ['api_error', 'Internal server error'],
  auth: ['authentication_error', 'invalid x-api-key'],
  unknown_model: ['not_found_error', 'model: '],
  context_too_long: ['invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
};

function refusal(failure: Refused, model: string): Refusal {
  const [type, said] = ERRORS[failure];
  const message = failure === 'unknown_model' ? said + model : said;
  return { status: STATUS[failure], body: { type: 'error', error: { type, message } } };
}
