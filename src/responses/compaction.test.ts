import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import OpenAI from 'openai';
import { type Answer, assertError, assertSchema, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says, thinks } from '../../test/response-turns.ts';
import { selectOrganizationByName } from '../accounts/store.ts';
import { setBalance } from '../billing/credits.ts';
import { usageRecords } from '../billing/tables.ts';
import type { ChatPrompt } from '../engines/engine.ts';
import { contextLengthExceeded } from '../errors.ts';
import { estimatePromptTokens } from '../knowledge-bases/grounding/token-estimate.ts';
import { CompactedResponse, InputTokens } from './compaction-schema.ts';

const MODEL = 'general-8b';
const weather = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } };

/** Asserts what both routes answer to requests that are not accepted. */
async function assertRejections(
  send: (body: object, key?: string | null) => Promise<Answer>,
  limited: string,
  foreign: string,
) {
  const input = 'Hi';
  assertError(await send({ input }), 400, 'missing_required_field', 'model');
  assertError(await send({ model: MODEL }), 400, 'missing_required_field', 'input');
  assertError(await send({ model: MODEL, input: ' ' }), 400, 'invalid_value', 'input');
  assertError(await send({ model: 'none', input }), 404, 'model_not_found', 'model');
  assertError(await send({ model: 'embed-large-en-v1.5', input }), 404, 'model_not_found', 'model');
  const previous = { model: MODEL, previous_response_id: foreign };
  assertError(await send(previous), 400, 'previous_response_not_found', 'previous_response_id');
  assertError(await send({ model: MODEL, input }, null), 401, 'invalid_api_key');
  assertError(await send({ model: MODEL, input }, limited), 403, 'insufficient_scope');
}

describe('POST /v1/responses/input_tokens', () => {
  const api = useApi({ rateLimits: 'tokens=5000,requests=1000', limitClock: () => 0 });
  const send = (body: object, key: string | null = api.key) =>
    api.send('POST', '/v1/responses/input_tokens', { body, key });
  /** Makes the engine count prompts; returns those that it has counted. */
  const counting = (result: number | null | Error) => {
    const prompts: ChatPrompt[] = [];
    api.engine.countTokens = async (prompt) => {
      prompts.push(prompt);
      if (result instanceof Error) throw result;
      return result;
    };
    return prompts;
  };

  it('counts the prompt that a response would have, with its tools, and calls no model', async () => {
    playTurns(api.engine, says('Cold.'));
    const body = { model: MODEL, input: 'Is it "warm"?', instructions: 'Be short.', tools: [weather] };
    await api.send('POST', '/v1/responses', { body });
    const sent = chatPromptOf(api.engine.calls[0]!);
    const prompts = counting(17);
    const records = await api.db.sql.$count(usageRecords);
    const { status, json, headers } = await send(body);
    assert.equal(status, 200);
    assertSchema(InputTokens, json);
    assert.deepEqual(json, { object: 'response.input_tokens', input_tokens: 17 });
    assert.deepEqual(prompts, [sent]);
    assert.equal(api.engine.calls.length, 1);
    assert.equal(await api.db.sql.$count(usageRecords), records, 'nothing is billed');
    const before = Number(headers.get('x-ratelimit-remaining-tokens'));
    assert.equal(
      Number((await send(body)).headers.get('x-ratelimit-remaining-tokens')),
      before,
      'nor limited by tokens',
    );
    const client = new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
    assert.equal((await client.responses.inputTokens.count({ model: MODEL, input: 'Hi' })).input_tokens, 17);
  });

  it('counts a conversation that is continued, alone and with more input', async () => {
    playTurns(api.engine, says('Cold.'));
    const { id } = (await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'Warm?' } })).json;
    const prompts = counting(1);
    await send({ model: MODEL, previous_response_id: id });
    await send({ model: MODEL, previous_response_id: id, input: 'Sure?' });
    assert.deepEqual(
      prompts.map(({ messages }) => messages.map(({ content }) => content)),
      [
        ['Warm?', 'Cold.'],
        ['Warm?', 'Cold.', 'Sure?'],
      ],
    );
  });

  it('estimates for engines that cannot count', async () => {
    const [prompt] = [counting(null), await send({ model: MODEL, input: 'Hi' })] as const;
    const estimate = estimatePromptTokens(prompt[0]!);
    assert.equal((await send({ model: MODEL, input: 'Hi' })).json.input_tokens, estimate);
    delete api.engine.countTokens;
    assert.equal((await send({ model: MODEL, input: 'Hi' })).json.input_tokens, estimate);
  });

  it('400, 401, 403 and 404; errors of the engine name fields of the request', async () => {
    const { key } = await api.makeKey({ scopes: ['files'] });
    const other = await api.makeKey({ organization: 'other' });
    playTurns(api.engine, says('Cold.'));
    const foreign = await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'Hi' }, key: other.key });
    await assertRejections(send, key, foreign.json.id);
    counting(contextLengthExceeded('messages', null, 5));
    assertError(await send({ model: MODEL, input: 'Hi' }), 400, 'context_length_exceeded', 'input');
    assertError(
      await send({ model: MODEL, input: 'Hi', tools: [{ type: 'web' }] }),
      400,
      'invalid_value',
      'tools.0.type',
    );
  });
});

describe('POST /v1/responses/compact', () => {
  const api = useApi();
  const send = (body: object, key: string | null = api.key) => api.send('POST', '/v1/responses/compact', { body, key });
  const read = () => chatPromptOf(api.engine.calls.at(-1)!).messages;
  const NOTES = 'The user is "Ann"\n and lives in Oslo.';
  const input = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'I am Ann.' },
    { role: 'assistant', content: 'Hello Ann.' },
    { role: 'user', content: 'I live in Oslo.' },
  ];

  it('the model summarizes the conversation; the output continues it', async () => {
    playTurns(api.engine, thinks('Hm.', says(NOTES)));
    const { status, json, headers } = await send({ model: MODEL, input, instructions: 'Be kind.' });
    assert.equal(status, 200);
    assertSchema(CompactedResponse, json);
    assert.equal(headers.get('x-cache-status'), 'HIT');
    assert.deepEqual(read().slice(0, -1), [{ role: 'system', content: 'Be kind.' }, ...input]);
    assert.match(read().at(-1)?.content ?? '', /^Write notes/);
    const [system, first, second, compaction] = json.output;
    assert.deepEqual(
      [system, first, second].map(({ role, content }) => [role, content[0].text]),
      [
        ['system', 'Be short.'],
        ['user', 'I am Ann.'],
        ['user', 'I live in Oslo.'],
      ],
    );
    assert.deepEqual([compaction.type, json.output.length], ['compaction', 4]);
    assert.match(compaction.id, /^cmp_/);
    assert.ok(!JSON.stringify(json).includes('Oslo.\\n') && !compaction.encrypted_content.includes('Ann'));
    const { input_tokens, output_tokens, output_tokens_details } = json.usage;
    assert.deepEqual([input_tokens, output_tokens, output_tokens_details], [10, 10, { reasoning_tokens: 2 }]);
    const [record] = await api.db.sql
      .select()
      .from(usageRecords)
      .where(eq(usageRecords.endpoint, '/v1/responses/compact'));
    assert.deepEqual([record?.completionTokens, record?.outcome], [10, 'completed']);
    assertError(await api.send('GET', `/v1/responses/${json.id}`), 404, 'response_not_found', 'response_id');

    playTurns(api.engine, says('In Oslo.'));
    const next = [...json.output, { role: 'user', content: 'Where do I live?' }];
    const continued = await api.send('POST', '/v1/responses', { body: { model: MODEL, input: next } });
    assert.equal(continued.status, 200, continued.text);
    const [notes, question] = read().slice(-2);
    assert.deepEqual([notes?.role, question?.content], ['assistant', 'Where do I live?']);
    assert.ok(notes?.content?.endsWith(NOTES));
    const items = (await api.send('GET', `/v1/responses/${continued.json.id}/input_items?order=asc`)).json.data;
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id).slice(0, 4),
      json.output.map(({ id }: { id: string }) => id),
    );
    playTurns(api.engine, says('In Oslo.'));
    await api.send('POST', '/v1/responses', { body: { model: MODEL, input: [...items, next.at(-1)] } });
    assert.ok(
      read().some(({ content }) => content?.endsWith(NOTES)),
      'input items can be sent again',
    );
  });

  it('compacts a stored response with its searches and calls, and what has been compacted', async () => {
    playTurns(api.engine, calls(['weather', { city: 'Oslo' }]));
    const first = (await api.send('POST', '/v1/responses', { body: { model: MODEL, input, tools: [weather] } })).json;
    const output = [{ type: 'function_call_output', call_id: first.output[0].call_id, output: '21' }];
    playTurns(api.engine, says(NOTES));
    const client = new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
    const compacted = await client.responses.compact({
      model: MODEL,
      previous_response_id: first.id,
      input: output as never,
    });
    assert.deepEqual(
      read().map(({ role }) => role),
      ['system', 'user', 'assistant', 'user', 'assistant', 'tool', 'user'],
    );
    assert.deepEqual(chatPromptOf(api.engine.calls.at(-1)!).tools, []);
    playTurns(api.engine, says('Shorter.'));
    const again = await client.responses.compact({ model: MODEL, input: compacted.output as never });
    assert.ok(read().some(({ content }) => content?.endsWith(NOTES)));
    assert.equal(again.output.filter(({ type }) => type === 'compaction').length, 1);
  });

  it('keeps the newest messages of the user up to 40,000 characters, system messages and the last one of any length', async () => {
    const kept = async (...lengths: number[]) => {
      playTurns(api.engine, says(NOTES));
      const messages = lengths.map((length) => ({ role: 'user', content: 'x'.repeat(length) }));
      const { json } = await send({ model: MODEL, input: messages });
      return json.output.slice(0, -1).map(({ content }: { content: [{ text: string }] }) => content[0].text.length);
    };
    assert.deepEqual(await kept(1, 20_000, 20_000), [20_000, 20_000]);
    assert.deepEqual(await kept(20_001, 20_000), [20_000]);
    assert.deepEqual(await kept(5, 50_000), [50_000]);
    playTurns(api.engine, says(NOTES));
    const system = { role: 'system', content: 'x'.repeat(40_001) };
    const { json } = await send({ model: MODEL, input: [system, { role: 'user', content: 'Hi' }] });
    assert.deepEqual([json.output[0].role, json.output[0].content[0].text], ['system', system.content]);
  });

  it('only the organization that made a compaction can use it', async () => {
    playTurns(api.engine, says(NOTES));
    const [, content] = (await send({ model: MODEL, input: 'Hi' })).json.output;
    const other = await api.makeKey({ organization: 'other' });
    const use = (encrypted_content: unknown, key = api.key) =>
      api.send('POST', '/v1/responses', {
        key,
        body: {
          model: MODEL,
          input: [
            { type: 'compaction', encrypted_content },
            { role: 'user', content: 'Hi' },
          ],
        },
      });
    const sealed = content.encrypted_content as string;
    assert.equal((await use(sealed)).status, 200);
    assertError(await use(sealed, other.key), 400, 'invalid_value', 'input.0.encrypted_content');
    const flipped = sealed.slice(0, -4) + (sealed.at(-4) === 'A' ? 'B' : 'A') + sealed.slice(-3);
    for (const forged of [flipped, 'x', `${sealed}x`.slice(4), api.deps.secrets.seal('text', 'ds_1')])
      assertError(await use(forged), 400, 'invalid_value', 'input.0.encrypted_content');
    assertError(await use(''), 400, 'invalid_value', 'input.0.encrypted_content');
    assertError(await use(undefined), 400, 'missing_required_field', 'input.0.encrypted_content');
  });

  it('400, 401, 402, 403 and 404; 500 when the model writes nothing', async () => {
    const { key } = await api.makeKey({ scopes: ['files'] });
    const other = await api.makeKey({ organization: 'another' });
    playTurns(api.engine, says('Cold.'));
    const foreign = await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'Hi' }, key: other.key });
    await assertRejections(send, key, foreign.json.id);
    const poor = await api.makeKey({ organization: 'poor' });
    const organization = (await selectOrganizationByName(api.db.sql, 'poor'))?.id ?? '';
    await setBalance(api.db.sql, organization, 10, { actor: 'test', note: null });
    assertError(await send({ model: MODEL, input: 'Hi' }, poor.key), 402, 'insufficient_credits');
    playTurns(api.engine, says(' \n'));
    assertError(await send({ model: MODEL, input: 'Hi' }), 500, 'server_error');
    playTurns(api.engine, contextLengthExceeded('messages', 9, 5));
    assertError(await send({ model: MODEL, input: 'Hi' }), 400, 'context_length_exceeded', 'input');
    api.engine.backend = () => ({ engine: 'bundled', model: 'small', parameters: 1, ready: true });
    assertError(await send({ model: MODEL, input: 'Hi' }), 400, 'invalid_value', 'model');
  });
});
