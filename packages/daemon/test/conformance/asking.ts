import { randomUUID } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  acceptedContent,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequests,
  type InputRequiredResult,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

export type State = RequestStateCodec<Record<string, unknown>>;
type Answer = CallToolResult | InputRequiredResult;
type Run = (context: ServerContext) => Promise<Answer>;

const done = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });
const form = (message: string, field: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  });
const CONFIRM = inputRequired.elicit({
  message: 'Please confirm',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
});
const completion = (question: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens: 100,
  });
const NAME = { user_name: form('What is your name?', 'name') };

/** Tools of the 2026 era that need something of their client before they can answer, by the suite's names. */
export function addAsking(mcp: McpServer, state: State): void {
  const tool = (name: string, run: Run): void =>
    void mcp.registerTool(name, { description: name, inputSchema: z.object({}) }, (_, context) =>
      run(context),
    );
  tool('test_missing_capability', async ({ mcpReq }) =>
    mcpReq.inputResponses?.['llm_answer'] === undefined
      ? inputRequired({ inputRequests: { llm_answer: completion('Say pong') } })
      : done('sampled'),
  );
  const named: Run = async ({ mcpReq }) => {
    const name = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'user_name')?.name;
    return typeof name === 'string' ? done(`Hello, ${name}!`) : inputRequired({ inputRequests: NAME });
  };
  tool('test_input_required_result_elicitation', named);
  tool('test_input_required_result_sampling', async ({ mcpReq }) => {
    const words = sampled(mcpReq.inputResponses?.['capital_question']);
    if (words !== undefined) return done(`Sampling response: ${words}`);
    return inputRequired({
      inputRequests: { capital_question: completion('What is the capital of France?') },
    });
  });
  tool('test_input_required_result_list_roots', async ({ mcpReq }) => {
    const roots = rooted(mcpReq.inputResponses?.['client_roots']);
    if (roots) return done(`${roots.length} root(s): ${JSON.stringify(roots)}`);
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  tool('test_input_required_result_multiple_inputs', (context) => severalAtOnce(context, state));
  tool('test_input_required_result_multi_round', (context) => twoRounds(context, state));
  tool('test_input_required_result_capabilities', async (context) => whatItCan(context));
  for (const name of ['request_state', 'tampered_state'])
    tool(`test_input_required_result_${name}`, (context) => confirmed(context, state));
  addAskingPrompt(mcp);
}

const sampled = (response: unknown): string | undefined =>
  (response as { content?: { text?: string } } | undefined)?.content?.text;
const rooted = (response: unknown): unknown[] | undefined =>
  (response as { roots?: unknown[] } | undefined)?.roots;

/** A state that was not sealed here never gets so far: the server refuses it before. */
async function confirmed({ mcpReq }: ServerContext, state: State): Promise<Answer> {
  if (acceptedContent(mcpReq.inputResponses, 'confirm') === undefined)
    return inputRequired({
      inputRequests: { confirm: CONFIRM },
      requestState: await state.mint({ nonce: randomUUID() }),
    });
  if (mcpReq.requestState() === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The state is missing.');
  return done('state-ok: integrity-ok');
}

async function severalAtOnce({ mcpReq }: ServerContext, state: State): Promise<Answer> {
  const { inputResponses: responses } = mcpReq;
  const name = acceptedContent<{ name: string }>(responses, 'user_name')?.name;
  const greeting = sampled(responses?.['greeting']);
  const roots = rooted(responses?.['client_roots']);
  if (name !== undefined && greeting !== undefined && roots)
    return done(`${greeting} ${name} ${roots.length}`);
  return inputRequired({
    inputRequests: { ...NAME, greeting: completion('A greeting'), client_roots: inputRequired.listRoots() },
    requestState: await state.mint({ nonce: randomUUID() }),
  });
}

async function twoRounds({ mcpReq }: ServerContext, state: State): Promise<Answer> {
  const { round = 0, name = '' } = mcpReq.requestState<{ round?: number; name?: string }>() ?? {};
  const given = (step: string) => acceptedContent<Record<string, string>>(mcpReq.inputResponses, step);
  if (round === 0)
    return inputRequired({
      inputRequests: { step1: form('Step 1: What is your name?', 'name') },
      requestState: await state.mint({ round: 1, nonce: randomUUID() }),
    });
  if (round === 1)
    return inputRequired({
      inputRequests: { step2: form('Step 2: What is your favorite color?', 'color') },
      requestState: await state.mint({ round: 2, name: given('step1')?.['name'] ?? '', nonce: randomUUID() }),
    });
  return done(`${name} likes ${given('step2')?.['color'] ?? ''}`);
}

/** Asks for nothing that the client did not say it can do. */
function whatItCan({ mcpReq }: ServerContext): Answer {
  if (mcpReq.inputResponses !== undefined) return done('fulfilled');
  // The type of the envelope does not name its keys.
  const envelope: Record<string, ClientCapabilities | undefined> = { ...(mcpReq.envelope as object) };
  const can = envelope[CLIENT_CAPABILITIES_META_KEY];
  const inputRequests: InputRequests = {
    ...(can?.elicitation ? NAME : {}),
    ...(can?.sampling ? { greeting: completion('A greeting') } : {}),
    ...(can?.roots ? { client_roots: inputRequired.listRoots() } : {}),
  };
  return Object.keys(inputRequests).length === 0
    ? done('it can do nothing')
    : inputRequired({ inputRequests });
}

function addAskingPrompt(mcp: McpServer): void {
  // A prompt without arguments is called with its context alone, which its type does not say.
  const run = async (context: unknown) => {
    const { mcpReq } = context as ServerContext;
    const given = acceptedContent<{ context: string }>(mcpReq.inputResponses, 'user_context')?.context;
    if (given === undefined)
      return inputRequired({ inputRequests: { user_context: form('What context?', 'context') } });
    const content = { type: 'text' as const, text: `Use the following context: ${given}` };
    return { messages: [{ role: 'user' as const, content }] };
  };
  mcp.registerPrompt('test_input_required_result_prompt', { description: 'asks' }, run);
}

/** The same in the 2025 era: the server sends requests of its own. */
export function addAsking2025(mcp: McpServer): void {
  mcp.registerTool(
    'test_sampling',
    { description: 'samples', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
      const answer = await mcpReq.send({
        method: 'sampling/createMessage',
        params: { messages, maxTokens: 100 },
      });
      return done(`LLM response: ${sampled(answer) ?? 'none'}`);
    },
  );
  const elicits = (name: string, properties: object): void =>
    void mcp.registerTool(
      name,
      { description: 'elicits', inputSchema: z.object({ message: z.string().default('Please fill in') }) },
      async ({ message }, { mcpReq }) => {
        // The schemas below are what the suite asks for, deprecated words included.
        const requestedSchema = { type: 'object', properties, required: [] } as never;
        const answer = await mcpReq.send({
          method: 'elicitation/create',
          params: { message, requestedSchema },
        });
        return done(`Elicitation completed: ${JSON.stringify(answer)}`);
      },
    );
  elicits('test_elicitation', { response: { type: 'string', description: 'the response' } });
  elicits('test_elicitation_sep1034_defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  });
  const titled = ['1', '2', '3'].map((n) => ({ const: `value${n}`, title: `Option ${n}` }));
  const plain = ['option1', 'option2', 'option3'];
  elicits('test_elicitation_sep1330_enums', {
    untitledSingle: { type: 'string', enum: plain },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: plain } },
    titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled } },
  });
}
