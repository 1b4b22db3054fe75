/** OpenAI's client with the tools of an MCP server, against a real service. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type OpenAI from 'openai';
import { type McpServerDouble, startMcpServer } from '../fixtures/mcp-server.ts';
import { callThenReport, MODELS, useBackends } from './backends.ts';

const backends = useBackends();
let server: McpServerDouble;
before(async () => {
  server = await startMcpServer();
});
after(() => server.close());

const tool = (requireApproval: 'always' | 'never'): OpenAI.Responses.Tool.Mcp => ({
  type: 'mcp',
  server_label: 'weather',
  server_url: server.url,
  authorization: 'client-token',
  require_approval: requireApproval,
});
const types = ({ output }: OpenAI.Responses.Response) => output.map(({ type }) => type);
const ask = (requireApproval: 'always' | 'never') => ({
  model: MODELS.scripted,
  input: 'Will it rain in Oslo?',
  tools: [tool(requireApproval)],
});

describe('openai: tools of MCP servers', () => {
  it('are listed, called and streamed; the accumulated response equals the retrieved one', async () => {
    backends.play(callThenReport({ city: 'Oslo' }));
    const { responses } = backends.openai();
    const seen: string[] = [];
    const stream = responses.stream(ask('never'));
    stream.on('event', ({ type }) => void (type.startsWith('response.mcp_') && seen.push(type)));
    const final = await stream.finalResponse();
    assert.deepEqual(seen, [
      'response.mcp_list_tools.in_progress',
      'response.mcp_list_tools.completed',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
    ]);
    assert.deepEqual(types(final), ['mcp_list_tools', 'mcp_call', 'message']);
    const made = final.output[1];
    assert.ok(made?.type === 'mcp_call');
    assert.equal(made.output, 'Sunny in Oslo.');
    assert.match(final.output_text, /Sunny in Oslo/);
    const retrieved = await responses.retrieve(final.id);
    assert.deepEqual(retrieved.output[1], made);
    assert.ok(!JSON.stringify(retrieved).includes('client-token'));
  });

  it('are called after an approval, over two requests', async () => {
    backends.play(callThenReport({ city: 'Bern' }));
    const { responses } = backends.openai();
    const first = await responses.create(ask('always'));
    const request = first.output.at(-1);
    assert.ok(request?.type === 'mcp_approval_request');
    const second = await responses.create({
      ...ask('always'),
      previous_response_id: first.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }],
    });
    assert.deepEqual(types(second), ['mcp_call', 'message']);
    const made = second.output[0];
    assert.ok(made?.type === 'mcp_call' && made.approval_request_id === request.id);
    assert.equal(made.output, 'Sunny in Bern.');
    const items = await Array.fromAsync(await responses.inputItems.list(second.id, { order: 'asc' }));
    assert.deepEqual(
      items.map(({ type }) => type),
      ['message', 'mcp_list_tools', 'mcp_approval_request', 'mcp_approval_response'],
    );
  });

  it('continue without a store, with the items of the output as input', async () => {
    backends.play(callThenReport({ city: 'Rome' }));
    const { responses } = backends.openai();
    const first = await responses.create({ ...ask('always'), store: false });
    const request = first.output.at(-1);
    assert.ok(request?.type === 'mcp_approval_request');
    const second = await responses.create({
      ...ask('always'),
      store: false,
      input: [
        { role: 'user', content: 'Will it rain in Rome?' },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'mcp_approval_response', approval_request_id: request.id, approve: false, reason: 'Not now' },
      ],
    });
    assert.deepEqual(types(second), ['message']);
    assert.match(second.output_text, /did not approve this call\. Reason: Not now/);
  });

  it('are not offered by a server that fails; the client gets the error in the list', async () => {
    backends.play(callThenReport({ city: 'Oslo' }));
    server.override = (_message, response) => Boolean(response.writeHead(401).end('token expired'));
    const { output } = await backends.openai().responses.create({
      ...ask('never'),
      tool_choice: 'none',
      tools: [tool('never'), { type: 'function', name: 'noop', parameters: {}, strict: false }],
    });
    server.override = () => false;
    assert.ok(output[0]?.type === 'mcp_list_tools');
    assert.match(output[0].error ?? '', /status 401: token expired/);
  });
});
