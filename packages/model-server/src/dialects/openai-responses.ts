import { randomBytes } from 'node:crypto';
import {
  joined,
  type Answer,
  type Called,
  type Conversation,
  type Heard,
  type Offered,
} from '../conversation.ts';
import { fields, list, pieces, textOf, words, type Fields } from '../json.ts';
import { eventOf, type Dialect } from './dialect.ts';
import { created, refusal } from './openai.ts';

/** OpenAI's responses. */
export const openaiResponses: Dialect = {
  name: 'openai-responses',
  read(body) {
    const { input } = body;
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : list(input).map(fields);
    return {
      model: words(body['model']),
      messages: joined(items.flatMap(heard)),
      tools: list(body['tools']).flatMap((tool) => offered(fields(tool))),
      stream: body['stream'] === true,
      wantsJson: words(fields(fields(body['text'])['format'])['type']).startsWith('json'),
    };
  },
  whole: (answer, asked) => response(envelope(asked), answer, 'completed'),
  *pieces(answer, asked) {
    const head = envelope(asked);
    let number = 0;
    const event = (type: string, data: Fields): string =>
      eventOf(type, { type, sequence_number: number++, ...data });
    yield event('response.created', { response: response(head, answer, 'in_progress') });
    for (const [index, item] of items(answer).entries()) {
      const at = { output_index: index, item_id: item.id };
      yield event('response.output_item.added', { output_index: index, item: begun(item) });
      for (const [type, data] of inside(item)) yield event(type, { ...at, ...data });
      yield event('response.output_item.done', { output_index: index, item });
    }
    const end = answer.end === 'cut' ? 'incomplete' : 'completed';
    yield event(`response.${end}`, { response: response(head, answer, end) });
  },
  refuse: (failure, { model }) => refusal(failure, model),
};

function heard(item: Fields): Heard[] {
  const type = words(item['type']);
  if (type === 'reasoning') return [];
  if (type.endsWith('_output')) return [{ role: 'tool', text: textOf(item['output']), calls: [] }];
  if (type.endsWith('_call'))
    return [
      { role: 'assistant', text: '', calls: [{ id: words(item['call_id']), name: words(item['name']) }] },
    ];
  const { role } = item;
  if (role !== 'user' && role !== 'assistant') return [];
  return [{ role, text: textOf(item['content']), calls: [] }];
}

/** Tools may stand in a namespace, which must then be said with every call. */
function offered(tool: Fields): Offered[] {
  const name = words(tool['name']);
  if (tool['type'] === 'namespace')
    return list(tool['tools'])
      .flatMap((inner) => offered(fields(inner)))
      .map((inner) => ({ ...inner, namespace: name }));
  return [{ name: name || words(tool['type']), ...(tool['type'] === 'custom' ? { plain: true } : {}) }];
}

const envelope = ({ model }: Conversation) => ({
  id: `resp_${randomBytes(12).toString('hex')}`,
  object: 'response',
  created_at: created(),
  model,
  error: null,
  parallel_tool_calls: true,
  tools: [],
});

function response(head: Fields, answer: Answer, status: 'in_progress' | 'completed' | 'incomplete'): Fields {
  const ended = status !== 'in_progress';
  const { input, output, cached } = answer.usage;
  return {
    ...head,
    status,
    output: ended ? items(answer) : [],
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    usage: ended
      ? {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: input + output,
        }
      : null,
  };
}

type Item = Fields & { readonly type: string; readonly id: string };

function items({ think, say, calls, end }: Answer): Item[] {
  const id = (kind: string): string => `${kind}_${randomBytes(12).toString('hex')}`;
  const part =
    end === 'refusal'
      ? { type: 'refusal', refusal: say }
      : { type: 'output_text', text: say, annotations: [] };
  return [
    ...(think === ''
      ? []
      : [{ type: 'reasoning', id: id('rs'), summary: [{ type: 'summary_text', text: think }] }]),
    ...(say === ''
      ? []
      : [{ type: 'message', id: id('msg'), role: 'assistant', status: 'completed', content: [part] }]),
    ...calls.map(callItem),
  ];
}

function callItem({ id, tool, input, json }: Called): Item {
  const named = {
    call_id: id,
    name: tool.name,
    status: 'completed',
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
  };
  if (!tool.plain) return { type: 'function_call', id: `fc_${id}`, ...named, arguments: json };
  const text = typeof input['input'] === 'string' ? input['input'] : JSON.stringify(input);
  return { type: 'custom_tool_call', id: `ctc_${id}`, ...named, input: text };
}

function begun(item: Item): Fields {
  if (item.type === 'reasoning') return { ...item, summary: [] };
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] };
  return {
    ...item,
    status: 'in_progress',
    ...(item.type === 'function_call' ? { arguments: '' } : { input: '' }),
  };
}

/** What comes between the beginning and the end of an item. */
function* inside(item: Item): Generator<[type: string, data: Fields]> {
  if (item.type === 'message') {
    const part = fields(list(item['content'])[0]);
    const kind = part['type'] === 'refusal' ? 'refusal' : 'output_text';
    const text = words(part[kind === 'refusal' ? 'refusal' : 'text']);
    const at = { content_index: 0 };
    const empty = kind === 'refusal' ? { ...part, refusal: '' } : { ...part, text: '' };
    yield ['response.content_part.added', { ...at, part: empty }];
    for (const delta of pieces(text)) yield [`response.${kind}.delta`, { ...at, delta }];
    yield [`response.${kind}.done`, { ...at, ...(kind === 'refusal' ? { refusal: text } : { text }) }];
    yield ['response.content_part.done', { ...at, part }];
    return;
  }
  if (item.type === 'reasoning') {
    const text = textOf(item['summary']);
    const at = { summary_index: 0 };
    yield ['response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }];
    for (const delta of pieces(text)) yield ['response.reasoning_summary_text.delta', { ...at, delta }];
    yield ['response.reasoning_summary_text.done', { ...at, text }];
    yield ['response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } }];
    return;
  }
  if (item.type !== 'function_call') return;
  const json = words(item['arguments']);
  for (const delta of pieces(json)) yield ['response.function_call_arguments.delta', { delta }];
  yield ['response.function_call_arguments.done', { arguments: json }];
}
