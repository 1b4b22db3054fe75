/**
 * The server that the suite of the Model Context Protocol describes, without what a server without sessions cannot do:
 * requests to the client and subscriptions. `replace-server.ts` puts it in the place of the server of `/mcp`.
 */
import { fromJsonSchema, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import type { McpCaller } from '../../src/protocols/mcp/server.ts';
import type { McpDeps } from '../../src/protocols/mcp/tools.ts';

/** A pixel as PNG, and an empty WAV file, in base64. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

const text = (value: string) => ({ type: 'text' as const, text: value });
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' };
const resource = (uri: string, value: string, mimeType = 'text/plain') => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: value },
});
const user = (...contents: object[]) => ({ messages: contents.map((content) => ({ role: 'user' as const, content })) });

/** Results of tools without arguments. */
const RESULTS = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio' as const, data: WAV, mimeType: 'audio/wav' }],
  test_embedded_resource: [resource('test://embedded-resource', 'This is an embedded resource content.')],
  test_multiple_content_types: [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
  ],
};

/** Replaces `createMcpServer` of `src/protocols/mcp/server.ts`. */
export function createMcpServer(_deps: McpDeps, _caller: McpCaller, version: string): McpServer {
  const server = new McpServer({ name: 'reference', version });
  addTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}

function addTools(server: McpServer): void {
  for (const [name, content] of Object.entries(RESULTS))
    server.registerTool(name, { description: name }, async () => ({ content }));
  server.registerTool('test_error_handling', { description: 'Fails.' }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool('test_tool_with_progress', { description: 'Reports progress.' }, async (context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await context.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        });
    }
    return { content: [text('Done.')] };
  });
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  };
  const described = { description: 'Tool with JSON Schema 2020-12 features', inputSchema: fromJsonSchema(schema) };
  server.registerTool('json_schema_2020_12_tool', described, async () => ({ content: [text('Done.')] }));
}

function addResources(server: McpServer): void {
  const plain = { mimeType: 'text/plain' };
  server.registerResource('text', 'test://static-text', plain, async ({ href: uri }) => ({
    contents: [{ uri, ...plain, text: 'This is the content of the static text resource.' }],
  }));
  server.registerResource('binary', 'test://static-binary', { mimeType: 'image/png' }, async ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  const json = { mimeType: 'application/json' };
  server.registerResource('template', template, json, async ({ href: uri }, { id }) => ({
    contents: [{ uri, ...json, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }],
  }));
}

function addPrompts(server: McpServer): void {
  const args = (...names: string[]) => ({
    description: `Has ${names.join(', ')}.`,
    argsSchema: fromJsonSchema<Record<string, string>>({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: names,
    }),
  });
  server.registerPrompt(
    'test_simple_prompt',
    { description: 'Simple.' },
    async () => user(text('This is a simple prompt for testing.')) as never,
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    args('arg1', 'arg2'),
    async ({ arg1, arg2 }) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)) as never,
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    args('resourceUri'),
    async ({ resourceUri = '' }) =>
      user(
        resource(resourceUri, 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ) as never,
  );
  server.registerPrompt(
    'test_prompt_with_image',
    { description: 'An image.' },
    async () => user(image, text('Please analyze the image above.')) as never,
  );
}
