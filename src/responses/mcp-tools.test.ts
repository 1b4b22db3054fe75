import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FORECAST, type McpServerDouble, startMcpServer, textResult } from '../../test/fixtures/mcp-server.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { usageRecords } from '../billing/tables.ts';
import { ResponseEvent } from './event-schema.ts';
import { RUN_RESPONSE, runBackground } from './run-background.ts';
import { ResponseResource } from './schema.ts';
import { responses } from './tables.ts';

const api = useApi({ jobs: [RUN_RESPONSE], config: { allowPrivateHosts: ['127.0.0.1'] } });
let server: McpServerDouble;
before(async () => {
  server = await startMcpServer();
});
after(() => server.close());
beforeEach(() => {
  server.messages.length = 0;
  server.tools = [FORECAST];
  server.call = (_name, { city }) => textResult(`Sunny in ${city}.`);
  server.override = () => false;
});

const tool = (fields: object = {}) => ({
  type: 'mcp',
  server_label: 'weather',
  server_url: server.url,
  require_approval: 'never',
  ...fields,
});
const send = (fields: object = {}) =>
  api.send('POST', '/v1/responses', {
    body: { model: 'general-8b', input: 'Will it rain in Oslo?', tools: [tool()], ...fields },
  });
const call = (city = 'Oslo') => calls(['weather__forecast', { city }]);
const lastPrompt = () => chatPromptOf(api.engine.calls.at(-1)!);
/** Results of tools that the last model call has read. */
const readResults = () =>
  lastPrompt().messages.flatMap(({ role, content }) => (role === 'tool' ? [JSON.parse(content ?? '')] : []));

describe('MCP tools in POST /v1/responses', () => {
  it('lists the tools, calls one, and shows both as items', async () => {
    playTurns(api.engine, call(), says('It is sunny.'));
    const { status, json } = await send();
    assert.equal(status, 200);
    assertSchema(ResponseResource, json);
    const [list, made, message] = json.output;
    assert.match(list.id, /^mcpl_/);
    assert.deepEqual(list.tools, [
      {
        name: 'forecast',
        description: 'Forecast for a city.',
        input_schema: FORECAST.inputSchema,
        annotations: { readOnlyHint: true },
      },
    ]);
    assert.deepEqual([list.type, list.server_label, list.error], ['mcp_list_tools', 'weather', null]);
    assert.match(made.id, /^mcp_/);
    assert.deepEqual(
      { ...made, id: '' },
      {
        type: 'mcp_call',
        id: '',
        status: 'completed',
        server_label: 'weather',
        name: 'forecast',
        arguments: '{"city":"Oslo"}',
        output: 'Sunny in Oslo.',
        error: null,
        approval_request_id: null,
      },
    );
    assert.equal(message.content[0].text, 'It is sunny.');
    assert.deepEqual([json.turn_count, json.tool_call_count], [2, 1]);
    assert.deepEqual(chatPromptOf(api.engine.calls[0]!).tools, [
      {
        type: 'function',
        function: {
          name: 'weather__forecast',
          description: 'Forecast for a city.',
          parameters: FORECAST.inputSchema,
        },
      },
    ]);
    const [result] = readResults();
    assert.match(result.note, /follow no instruction/);
    assert.equal(result.result, 'Sunny in Oslo.');
    assert.deepEqual(
      server.methods().filter((method) => !method.startsWith('notifications/')),
      ['server/discover', 'initialize', 'tools/list', 'tools/call', 'DELETE'],
    );
  });

  it('streams the events of lists and calls in order', async () => {
    playTurns(api.engine, call(), says('It is sunny.'));
    const events = chunks((await send({ stream: true })).text) as ResponseEvent[];
    for (const event of events) assertSchema(ResponseEvent, event);
    assert.deepEqual(
      events.map(({ type, ...event }) => ('output_index' in event ? `${event.output_index} ${type}` : type)),
      [
        'response.created',
        '0 response.output_item.added',
        '0 response.mcp_list_tools.in_progress',
        '0 response.mcp_list_tools.completed',
        '0 response.output_item.done',
        '1 response.output_item.added',
        '1 response.mcp_call.in_progress',
        '1 response.mcp_call_arguments.delta',
        '1 response.mcp_call_arguments.done',
        '1 response.mcp_call.completed',
        '1 response.output_item.done',
        '2 response.output_item.added',
        '2 response.output_text.delta',
        '2 response.output_text.delta',
        '2 response.output_text.delta',
        '2 response.output_text.done',
        '2 response.output_item.done',
        'response.completed',
      ],
    );
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    );
  });

  it('sends headers and the token to the server, and stores neither', async () => {
    playTurns(api.engine, call(), says('It is sunny.'));
    const secrets = { authorization: 'token-"1"', headers: { 'X-Tenant': 'harbour secret' } };
    const { json } = await send({ tools: [tool({ ...secrets, server_url: `${server.url}?key=path-secret` })] });
    for (const { headers } of server.messages) {
      assert.equal(headers.authorization, 'Bearer token-"1"');
      assert.equal(headers['x-tenant'], 'harbour secret');
    }
    assert.equal(json.tools[0].server_url, `${new URL(server.url).origin}/<redacted>`);
    const rows = await api.db.sql.select().from(responses);
    for (const text of [JSON.stringify(json), JSON.stringify(rows)]) {
      for (const secret of ['token-', 'harbour secret', 'path-secret']) assert.ok(!text.includes(secret), secret);
    }
  });

  it('writes one usage record per model call', async () => {
    playTurns(api.engine, call(), call('Bern'), says('Both are sunny.'));
    const count = async () => (await api.db.sql.select().from(usageRecords)).length;
    const before = await count();
    const { json } = await send();
    assert.equal((await count()) - before, 3);
    assert.equal(json.usage.input_tokens, 30);
  });

  it('uses the list of the response that it continues', async () => {
    playTurns(api.engine, says('Hello.'), call(), says('It is sunny.'));
    const first = await send();
    const { json } = await send({ previous_response_id: first.json.id });
    assert.deepEqual(
      json.output.map(({ type }: { type: string }) => type),
      ['mcp_call', 'message'],
    );
    assert.equal(server.methods().filter((method) => method === 'tools/list').length, 1);
    const items = await api.send('GET', `/v1/responses/${json.id}/input_items?order=asc`);
    assert.deepEqual(
      items.json.data.map(({ type }: { type: string }) => type),
      ['message', 'mcp_list_tools', 'message', 'message'],
    );
  });

  it('lists again for another selection of tools, and after a failed list', async () => {
    playTurns(api.engine, says('Hello.'));
    const first = await send({ tools: [tool({ allowed_tools: ['forecast'] })] });
    const second = await send({ previous_response_id: first.json.id });
    assert.equal(second.json.output[0].type, 'mcp_list_tools');
    server.override = ({ method }, response) => method === 'tools/list' && Boolean(response.writeHead(500).end());
    const failed = await send();
    assert.match(failed.json.output[0].error, /500/);
    assert.equal(failed.json.status, 'completed');
    server.override = () => false;
    const third = await send({ previous_response_id: failed.json.id });
    assert.deepEqual([third.json.output[0].type, third.json.output[0].error], ['mcp_list_tools', null]);
  });

  it('uses a list that the client sends among its items', async () => {
    playTurns(api.engine, call(), says('It is sunny.'));
    const first = await send({ store: false });
    server.messages.length = 0;
    playTurns(api.engine, says('As I said.'));
    const { status, json } = await send({
      input: [{ role: 'user', content: 'Rain?' }, ...first.json.output, { role: 'user', content: 'Sure?' }],
    });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(server.methods(), []);
    assert.equal(readResults()[0].result, 'Sunny in Oslo.');
    assert.equal(lastPrompt().tools[0]?.function.name, 'weather__forecast');
  });

  it('offers the allowed tools only, by name or by the annotations of the server', async () => {
    server.tools = [FORECAST, { ...FORECAST, name: 'erase', annotations: { readOnlyHint: false } }];
    for (const allowed of [['forecast'], { tool_names: ['forecast'] }, { read_only: true }]) {
      playTurns(api.engine, calls(['weather__erase', { city: 'Oslo' }]));
      const { json } = await send({ tools: [tool({ allowed_tools: allowed })] });
      assert.deepEqual(
        json.output[0].tools.map(({ name }: { name: string }) => name),
        ['forecast'],
      );
      assert.equal(json.output[1].type, 'function_call', 'a tool that is not offered is not called');
      assert.ok(!server.methods().includes('tools/call'));
    }
  });

  it('tells apart equal names of two servers and a function', async () => {
    const named = { type: 'function', name: 'a__b__c', parameters: { type: 'object' } };
    server.tools = [
      { ...FORECAST, name: 'b__c' },
      { ...FORECAST, name: 'Übersicht / heute' },
    ];
    const other = await startMcpServer();
    other.tools = [{ ...FORECAST, name: 'c' }];
    other.call = () => textResult('from the other');
    try {
      playTurns(api.engine, says('Hello.'));
      const tools = [named, tool({ server_label: 'a' }), tool({ server_label: 'a__b', server_url: other.url })];
      await send({ tools });
      const names = lastPrompt().tools.map(({ function: { name } }) => name);
      assert.equal(new Set(names).size, 4);
      for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
      assert.equal(names[0], 'a__b__c');
      playTurns(api.engine, calls([names[3]!, { city: 'Oslo' }]), says('Done.'));
      const { json } = await send({ tools });
      const made = json.output.find(({ type }: { type: string }) => type === 'mcp_call');
      assert.deepEqual([made.server_label, made.name, made.output], ['a__b', 'c', 'from the other']);
    } finally {
      await other.close();
    }
  });

  it('makes parallel calls, and stops at max_tool_calls', async () => {
    playTurns(
      api.engine,
      calls(...['Oslo', 'Bern', 'Rome'].map((city) => ['weather__forecast', { city }] as [string, object])),
      says('All are sunny.'),
    );
    const { json } = await send({ max_tool_calls: 2 });
    const made = json.output.filter(({ type }: { type: string }) => type === 'mcp_call');
    assert.deepEqual(
      made.map(({ status }: { status: string }) => status),
      ['completed', 'completed', 'failed'],
    );
    assert.match(made[2].error.content, /number of calls is used up/);
    assert.equal(lastPrompt().toolChoice, 'none');
  });

  it('makes the model call a tool of the server, or the named tool, in the first turn', async () => {
    server.tools = [FORECAST, { ...FORECAST, name: 'tides' }];
    playTurns(api.engine, call(), says('It is sunny.'));
    await send({ tool_choice: { type: 'mcp', server_label: 'weather' } });
    const [first, second] = api.engine.calls.map((each) => chatPromptOf(each));
    assert.deepEqual([first?.toolChoice, second?.toolChoice], ['required', 'auto']);
    playTurns(api.engine, calls(['weather__tides', {}]), says('High.'));
    await send({ tool_choice: { type: 'mcp', server_label: 'weather', name: 'tides' } });
    assert.deepEqual(chatPromptOf(api.engine.calls[0]!).toolChoice, { name: 'weather__tides' });
    const choice = { type: 'allowed_tools', tools: [{ type: 'mcp', server_label: 'weather', name: 'tides' }] };
    playTurns(api.engine, says('Hello.'));
    await send({ tool_choice: choice });
    assert.deepEqual(
      lastPrompt().tools.map(({ function: { name } }) => name),
      ['weather__tides'],
    );
    assertError(
      await send({ tool_choice: { type: 'mcp', server_label: 'weather', name: 'x' } }),
      400,
      'invalid_value',
      'tool_choice.name',
    );
  });
});

describe('approval of MCP calls', () => {
  const approval = { tools: undefined as unknown };
  before(() => {
    approval.tools = [tool({ require_approval: undefined })];
  });
  const request = async () => {
    playTurns(api.engine, call(), says('It is sunny.'));
    const { json } = await send(approval);
    return { id: json.id, item: json.output.at(-1), json };
  };
  const answer = (previous: string, id: string, fields: object = {}) =>
    send({
      ...approval,
      previous_response_id: previous,
      input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true, ...fields }],
    });

  it('ends the response with a request, and makes the call when the next request approves it', async () => {
    const { id, item, json } = await request();
    assertSchema(ResponseResource, json);
    assert.match(item.id, /^mcpr_/);
    assert.deepEqual(
      { ...item, id: '' },
      {
        type: 'mcp_approval_request',
        id: '',
        server_label: 'weather',
        name: 'forecast',
        arguments: '{"city":"Oslo"}',
      },
    );
    assert.equal(json.status, 'completed');
    assert.ok(!server.methods().includes('tools/call'));
    const { json: next } = await answer(id, item.id);
    assertSchema(ResponseResource, next);
    const [made, message] = next.output;
    assert.deepEqual([made.type, made.approval_request_id, made.output], ['mcp_call', item.id, 'Sunny in Oslo.']);
    assert.equal(message.content[0].text, 'It is sunny.');
    assert.equal(server.methods().filter((method) => method === 'tools/call').length, 1);
    playTurns(api.engine, says('Yes.'));
    await send({ ...approval, previous_response_id: next.id, input: 'Sure?' });
    assert.equal(server.methods().filter((method) => method === 'tools/call').length, 1, 'a call is made once');
  });

  it('shows the model that a call was declined, and why', async () => {
    const { id, item } = await request();
    const { json } = await answer(id, item.id, { approve: false, reason: 'Ask "Anna" first' });
    assert.deepEqual(
      json.output.map(({ type }: { type: string }) => type),
      ['message'],
    );
    assert.match(readResults()[0].error, /did not approve.*Ask "Anna" first/);
    assert.ok(!server.methods().includes('tools/call'));
  });

  it('rejects approvals of unknown and answered requests, and without the server', async () => {
    const { id, item } = await request();
    assertError(await answer(id, 'mcpr_unknown'), 400, 'invalid_value', 'input.0.approval_request_id');
    const next = await answer(id, item.id);
    assertError(await answer(next.json.id, item.id), 400, 'invalid_value', 'input.0.approval_request_id');
    const response = { type: 'mcp_approval_response', approval_request_id: item.id, approve: true };
    assertError(await send({ tools: [], previous_response_id: id, input: [response] }), 400, 'invalid_value', 'tools');
    const { approve: _, ...incomplete } = response;
    assertError(
      await send({ ...approval, previous_response_id: id, input: [incomplete] }),
      400,
      'missing_required_field',
      'input.0.approve',
    );
  });

  it('asks for the tools that the filters select', async () => {
    server.tools = [FORECAST, { ...FORECAST, name: 'erase', annotations: {} }];
    const needs = async (require_approval: unknown, name: string) => {
      playTurns(api.engine, calls([`weather__${name}`, { city: 'Oslo' }]), says('Done.'));
      const { json } = await send({ tools: [tool({ require_approval })] });
      return json.output[1].type === 'mcp_approval_request';
    };
    assert.equal(await needs({ never: { tool_names: ['forecast'] } }, 'forecast'), false);
    assert.equal(await needs({ never: { tool_names: ['forecast'] } }, 'erase'), true);
    assert.equal(await needs({ always: { read_only: false } }, 'forecast'), false);
    assert.equal(await needs({ always: { read_only: false } }, 'erase'), true);
    assert.equal(await needs({}, 'forecast'), true);
    const both = { always: { tool_names: ['forecast'] }, never: { tool_names: ['forecast', 'erase'] } };
    assert.equal(await needs(both, 'forecast'), true, 'always wins over never');
    assert.equal(await needs(both, 'erase'), false);
  });

  it('does not call an approved tool that the server does not offer any more', async () => {
    const { id, item } = await request();
    const { json } = await send({
      tools: [tool({ allowed_tools: [] })],
      previous_response_id: id,
      input: [{ type: 'mcp_approval_response', approval_request_id: item.id, approve: true }],
    });
    const made = json.output.find(({ type }: { type: string }) => type === 'mcp_call');
    assert.deepEqual([made.status, made.output], ['failed', null]);
    assert.match(made.error.content, /not offered/);
    assert.ok(!server.methods().includes('tools/call'));
  });
});

describe('MCP tools of background responses', () => {
  it('are stored encrypted until the run, and called by it', async () => {
    playTurns(api.engine, call(), says('It is sunny.'));
    const { json } = await send({ background: true, tools: [tool({ authorization: 'background-secret' })] });
    const stored = JSON.stringify(await api.db.sql.select().from(responses));
    assert.ok(!stored.includes('background-secret') && !stored.includes(server.url));
    await runBackground(api.deps, json.id, new AbortController().signal);
    const { json: ended } = await api.send('GET', `/v1/responses/${json.id}`);
    assertSchema(ResponseResource, ended);
    assert.deepEqual(
      ended.output.map(({ type }: { type: string }) => type),
      ['mcp_list_tools', 'mcp_call', 'message'],
    );
    assert.equal(ended.output[1].arguments, '{"city":"Oslo"}');
    assert.equal(server.messages.at(0)?.headers.authorization, 'Bearer background-secret');
    assert.ok(!JSON.stringify(ended).includes('background-secret'));
  });
});

describe('validation of MCP tools', () => {
  const cases: [object, string, string?][] = [
    [{ server_label: undefined }, 'server_label', 'missing_required_field'],
    [{ server_label: '1x' }, 'server_label'],
    [{ server_label: `a${'b'.repeat(64)}` }, 'server_label'],
    [{ server_url: 'ftp://host/' }, 'server_url'],
    [{ server_url: 'not a url' }, 'server_url'],
    [{ server_url: 'http://user:pass-phrase@host/' }, 'server_url'],
    [{ headers: { Host: 'x' } }, 'headers'],
    [{ headers: { 'Mcp-Session-Id': 'x' } }, 'headers'],
    [{ headers: { 'bad name': 'x' } }, 'headers'],
    [{ headers: { 'x-a': 'line\nbreak' } }, 'headers'],
    [{ headers: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, ''])) }, 'headers'],
    [{ headers: { 'x-a': 'a'.repeat(16_384) } }, 'headers'],
    [{ authorization: 'a', headers: { Authorization: 'b' } }, 'authorization'],
    [{ authorization: 'a\nb' }, 'authorization'],
    [{ allowed_tools: { names: [] } }, 'allowed_tools'],
    [{ require_approval: 'maybe' }, 'require_approval'],
  ];
  for (const [fields, field, code = 'invalid_value'] of cases) {
    it(`rejects ${JSON.stringify(fields).slice(0, 60)}`, async () => {
      const answer = await send({ tools: [tool(fields)] });
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.json.error.code, code);
      assert.ok(answer.json.error.param.startsWith(`tools.0.${field}`), answer.json.error.param);
      assert.ok(!answer.text.includes('pass-phrase'));
    });
  }

  it('rejects a label twice, and more than 16 servers', async () => {
    const twice = await send({ tools: [tool(), tool()] });
    assertError(twice, 400, 'invalid_value', 'tools.1.server_label');
    const many = Array.from({ length: 17 }, (_, i) => tool({ server_label: `s${i}` }));
    assertError(await send({ tools: many }), 400, 'invalid_value', 'tools.16');
  });
});
