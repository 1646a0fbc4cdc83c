import {
  ResourceTemplate,
  fromJsonSchema,
  type CallToolResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const NOTHING = z.object({});
/** What the suite needs to see between two notifications of one call. */
const BETWEEN_MS = 50;

const text = (words: string): CallToolResult['content'][number] => ({ type: 'text', text: words });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' } as const;
const embedded = (uri: string, mimeType: string, words: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: words } }) as const;

/** Tools that return one kind of content each, and resources and prompts, under the names the suite asks for. */
export function addContent(mcp: McpServer): void {
  addPlainTools(mcp);
  addTalkingTools(mcp);
  addSchemaTools(mcp);
  addResources(mcp);
  addPrompts(mcp);
}

function addPlainTools(mcp: McpServer): void {
  const contents: Record<string, CallToolResult['content']> = {
    test_simple_text: [text('This is a simple text response for testing.')],
    test_image_content: [image],
    test_audio_content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }],
    test_embedded_resource: [
      embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
    test_multiple_content_types: [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
    test_streaming_elicitation: [text('nothing but a result')],
  };
  for (const [name, content] of Object.entries(contents))
    mcp.registerTool(name, { description: name }, async () => ({ content }));
  mcp.registerTool('test_error_handling', { description: 'fails' }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
}

/** Tools that say something while they are at work. */
function addTalkingTools(mcp: McpServer): void {
  const tool = (name: string, run: (context: ServerContext) => Promise<string>): void =>
    void mcp.registerTool(name, { description: name, inputSchema: NOTHING }, async (_, context) => ({
      content: [text(await run(context))],
    }));
  tool('test_tool_with_logging', async ({ mcpReq }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      await sleep(BETWEEN_MS);
    }
    return 'Tool with logging executed successfully';
  });
  tool('test_logging_tool', async ({ mcpReq }) => {
    await mcpReq.log('info', 'heard only by a request that set a level');
    return 'logged';
  });
  tool('test_tool_with_progress', async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return 'no-progress-token';
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` };
      await mcpReq.notify({ method: 'notifications/progress', params });
      await sleep(BETWEEN_MS);
    }
    return String(progressToken);
  });
  tool('test_reconnection', async ({ http }) => {
    // The client has to come back for the result.
    http?.closeSSE?.();
    await sleep(2 * BETWEEN_MS);
    return 'Reconnection test completed successfully.';
  });
}

/** A word of the protocol, not of JSON Schema. */
const REGION = { type: 'string', 'x-mcp-header': 'Region' } as const;

function addSchemaTools(mcp: McpServer): void {
  mcp.registerTool(
    'test_x_mcp_header',
    {
      description: 'one argument is also a header',
      inputSchema: fromJsonSchema<{ region?: string; level?: number }>({
        type: 'object',
        properties: { region: REGION, level: { type: 'integer' } },
      }),
    },
    async ({ region }) => ({ content: [text(`region=${region ?? '<none>'}`)] }),
  );
  mcp.registerTool(
    'json_schema_2020_12_tool',
    { description: 'every word of its schema must come through', inputSchema: fromJsonSchema(SCHEMA) },
    async (args) => ({ content: [text(JSON.stringify(args))] }),
  );
}

const SCHEMA: Parameters<typeof fromJsonSchema>[0] = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

function addResources(mcp: McpServer): void {
  const fixed = (name: string, mimeType: string, content: { text: string } | { blob: string }): void => {
    const uri = `test://${name}`;
    mcp.registerResource(name, uri, { title: name, mimeType }, async () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  };
  fixed('static-text', 'text/plain', { text: 'This is the content of the static text resource.' });
  fixed('static-binary', 'image/png', { blob: PIXEL });
  fixed('watched-resource', 'text/plain', { text: 'Watched resource content' });
  const mimeType = 'application/json';
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  mcp.registerResource('template', template, { title: 'template', mimeType }, async (uri, { id }) => ({
    contents: [
      {
        uri: uri.toString(),
        mimeType,
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }));
}

function addPrompts(mcp: McpServer): void {
  const said = (...contents: CallToolResult['content']) => ({
    messages: contents.map((content) => ({ role: 'user' as const, content })),
  });
  mcp.registerPrompt('test_simple_prompt', { description: 'simple' }, async () =>
    said(text('This is a simple prompt for testing.')),
  );
  const two = z.object({ arg1: z.string().describe('the first'), arg2: z.string().describe('the second') });
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'two', argsSchema: two },
    async ({ arg1, arg2 }) => said(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  const argsSchema = z.object({ resourceUri: z.string().describe('what to embed') });
  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'embeds', argsSchema },
    async ({ resourceUri }) =>
      said(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Process it.'),
      ),
  );
  mcp.registerPrompt('test_prompt_with_image', { description: 'image' }, async () =>
    said(image, text('Look at it.')),
  );
}
