import { randomBytes } from 'node:crypto';
import { joined, type Answer, type Conversation, type Heard } from '../conversation.ts';
import { fields, list, pieces, textOf, words, type Fields } from '../json.ts';
import { dataOf, type Dialect, type Refusal, type Refused } from './dialect.ts';

/** Google's generateContent and streamGenerateContent. */
export const gemini: Dialect = {
  name: 'gemini',
  read(body, path) {
    const { generationConfig, tools } = body;
    return {
      model: /models\/([^/:]+):/.exec(path)?.[1] ?? '',
      messages: joined(list(body['contents']).flatMap((content) => heard(fields(content)))),
      tools: list(tools).flatMap((group) =>
        list(fields(group)['functionDeclarations']).map((tool) => ({ name: words(fields(tool)['name']) })),
      ),
      stream: path.includes(':stream'),
      wantsJson: words(fields(generationConfig)['responseMimeType']).includes('json'),
    };
  },
  whole: (answer, asked) => ({
    ...envelope(answer, asked),
    candidates: [candidate(parts(answer), answer)],
  }),
  *pieces(answer, asked) {
    const head = envelope(answer, asked);
    const piece = (part: Fields): string => dataOf({ ...head, candidates: [candidate([part], null)] });
    for (const text of pieces(answer.think)) yield piece({ text, thought: true });
    for (const text of pieces(answer.say)) yield piece({ text });
    const called = calls(answer);
    yield dataOf({ ...head, candidates: [candidate(called.length > 0 ? called : [{ text: '' }], answer)] });
  },
  refuse: (failure, { model }) => refusal(failure, model),
};

function heard({ role, parts: said }: Fields): Heard[] {
  const all = list(said).map(fields);
  if (role === 'model') {
    const calls = all
      .filter(({ functionCall }) => functionCall !== undefined)
      .map(({ functionCall }) => ({
        id: words(fields(functionCall)['id']),
        name: words(fields(functionCall)['name']),
      }));
    return [{ role: 'assistant', text: textOf(all.filter(({ thought }) => thought !== true)), calls }];
  }
  return all.map((part) => {
    const { functionResponse: response } = part;
    if (response === undefined) return { role: 'user', text: textOf(part), calls: [] };
    return { role: 'tool', text: resultText(fields(response)['response']), calls: [] };
  });
}

/** A result is an object of any shape; clients put the text under one of these names. */
function resultText(response: unknown): string {
  const { output, result, content, error } = fields(response);
  const text = textOf(output ?? result ?? content ?? error);
  return text === '' ? JSON.stringify(response ?? '') : text;
}

const envelope = ({ usage }: Answer, { model }: Conversation) => ({
  usageMetadata: {
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output,
    cachedContentTokenCount: usage.cached,
    totalTokenCount: usage.input + usage.output,
  },
  modelVersion: model,
  responseId: randomBytes(12).toString('hex'),
});

const FINISH = { done: 'STOP', calls: 'STOP', cut: 'MAX_TOKENS', refusal: 'SAFETY' } as const;

const candidate = (of: readonly Fields[], ended: Answer | null) => ({
  index: 0,
  content: { role: 'model', parts: of },
  ...(ended ? { finishReason: FINISH[ended.end] } : {}),
});

const parts = (answer: Answer): Fields[] => [
  ...(answer.think === '' ? [] : [{ text: answer.think, thought: true }]),
  ...(answer.say === '' ? [] : [{ text: answer.say }]),
  ...calls(answer),
];

const calls = (answer: Answer): Fields[] =>
  answer.calls.map(({ id, tool, input }) => ({ functionCall: { id, name: tool.name, args: input } }));

const ERRORS: { readonly [F in Refused]: readonly [status: number, name: string, words: string] } = {
  rate_limit: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'],
  overload: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  server: [500, 'INTERNAL', 'An internal error has occurred.'],
  auth: [401, 'UNAUTHENTICATED', 'API key not valid. Please pass a valid API key.'],
  unknown_model: [404, 'NOT_FOUND', 'This model is not found: '],
  context_too_long: [
    400,
    'INVALID_ARGUMENT',
    'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).',
  ],
};

function refusal(failure: Refused, model: string): Refusal {
  const [code, status, said] = ERRORS[failure];
  const message = failure === 'unknown_model' ? said + model : said;
  return { status: code, body: { error: { code, message, status } } };
}
