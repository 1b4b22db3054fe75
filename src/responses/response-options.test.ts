/** Options of the specification: log probabilities and truncation. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import type { GenerationEvent, TokenLogprob } from '../engines/engine.ts';
import { contextLengthExceeded } from '../errors.ts';
import { NO_PROGRESS, ResponseEmitter, type ResponseShell } from './emitter.ts';
import { ResponseEvent } from './event-schema.ts';
import { RUN_RESPONSE, runBackground } from './run-background.ts';
import { ResponseResource } from './schema.ts';

const body = { model: 'general-8b', input: 'Is it warm?' };

describe('log probabilities in POST /v1/responses', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  before(() =>
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal)),
  );
  const token = (text: string): TokenLogprob => ({
    ...{ token: text, logprob: -0.5, bytes: [...Buffer.from(text)] },
    top: [{ token: '"', logprob: -0.7, bytes: null }],
  });
  const shown = (text: string) => ({
    ...{ token: text, logprob: -0.5, bytes: [...Buffer.from(text)] },
    top_logprobs: [{ token: '"', logprob: -0.7, bytes: [] }],
  });
  const answer: GenerationEvent[] = [
    { type: 'text-delta', choice: 0, text: 'It is ', tokens: 2, logprobs: [token('It'), token(' is ')] },
    { type: 'text-delta', choice: 0, text: '\u00e9\n', tokens: 1, logprobs: [token('\u00e9\n')] },
    { type: 'choice-end', choice: 0, reason: 'stop' },
  ];
  const all = ['It', ' is ', '\u00e9\n'].map(shown);
  const post = (fields: object) => api.send('POST', '/v1/responses', { body: { ...body, ...fields } });

  it('are in the text, its events and the stored response', async () => {
    playTurns(api.engine, answer);
    const fields = { top_logprobs: 1, include: ['message.output_text.logprobs'] };
    const { json } = await post(fields);
    assertSchema(ResponseResource, json);
    assert.deepEqual(json.output[0].content[0].logprobs, all);
    assert.equal(json.top_logprobs, 1);
    assert.deepEqual((await api.send('GET', `/v1/responses/${json.id}`)).json, json);
    const events = chunks((await post({ ...fields, stream: true })).text);
    for (const event of events) assertSchema(ResponseEvent, event);
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    assert.deepEqual(
      deltas.map(({ logprobs }) => logprobs),
      [all.slice(0, 2), all.slice(2)],
    );
    assert.deepEqual(events.find(({ type }) => type === 'response.output_text.done').logprobs, all);
    assert.deepEqual(events.at(-1).response.output[0].content[0].logprobs, all);
    const { id } = (await post({ ...fields, background: true })).json;
    const followed = chunks((await withDeadline('the end', api.send('GET', `/v1/responses/${id}?stream=true`))).text);
    assert.deepEqual(followed.at(-1).response.output[0].content[0].logprobs, all);
  });

  it('are kept by another process that continues the response', () => {
    const first = new ResponseEmitter({} as ResponseShell);
    const events = [first.created(), ...first.text('It is ', [token('It'), token(' is ')])];
    const second = new ResponseEmitter({} as ResponseShell);
    second.replay(events, NO_PROGRESS);
    const [item] = [...second.text('\u00e9\n', [token('\u00e9\n')]), ...second.endText()].slice(-1);
    assert.ok(item?.type === 'response.output_item.done' && item.item.type === 'message');
    assert.deepEqual(item.item.content[0]?.logprobs, all);
  });

  it('are requested by either field, and absent otherwise', async () => {
    for (const [fields, alternatives] of [
      [{}, null],
      [{ top_logprobs: 0 }, null],
      [{ top_logprobs: 5 }, 5],
      [{ include: ['message.output_text.logprobs'] }, 0],
      [{ include: ['file_search_call.results'], top_logprobs: 2 }, 2],
    ] as const) {
      playTurns(api.engine, says('Yes.'));
      const { json } = await post(fields);
      assert.equal(api.engine.calls[0]!.request.logprobs, alternatives);
      assert.deepEqual(Object.keys(json.output[0].content[0]), ['type', 'text', 'annotations']);
    }
  });
});

describe('truncation of POST /v1/responses', () => {
  const api = useApi();
  const turn = (text: string) => [
    { role: 'user', content: text },
    { role: 'assistant', content: `${text}!` },
  ];
  const input = [
    { role: 'system', content: 'Be short.' },
    ...['a', 'b', 'c'].flatMap(turn),
    { role: 'user', content: 'd' },
  ];
  /** A model whose context has room for so many messages. */
  const fits = (messages: number) => {
    playTurns(api.engine);
    api.engine.play(async function* (request) {
      if (chatPromptOf({ request } as never).messages.length > messages) throw contextLengthExceeded('messages', 9, 5);
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 };
      yield* says('Yes.');
      yield { type: 'usage', usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 1 } };
    });
  };
  const post = (fields: object) => api.send('POST', '/v1/responses', { body: { ...body, input, ...fields } });
  const read = () => chatPromptOf(api.engine.calls.at(-1)!).messages.map(({ content }) => content);

  it('auto leaves out the oldest messages until the prompt fits, and keeps instructions and the last question', async () => {
    for (const [messages, expected] of [
      [8, ['Be short.', 'a', 'a!', 'b', 'b!', 'c', 'c!', 'd']],
      [7, ['Be short.', 'c', 'c!', 'd']],
      [3, ['Be short.', 'd']],
    ] as const) {
      fits(messages);
      const { status, json, text } = await post({ truncation: 'auto' });
      assert.equal(status, 200, text);
      assert.deepEqual([json.truncation, json.status], ['auto', 'completed']);
      assert.deepEqual(read(), expected);
    }
  });

  it('auto with a prompt that no tokenizer could fit', async () => {
    fits(3);
    const long = [...turn('x'.repeat(1_500_000)), ...input];
    assert.equal((await post({ input: long, truncation: 'auto' })).status, 200);
    assertError(await post({ input: long }), 400, 'context_length_exceeded', 'input');
  });

  it('disabled, and auto when nothing may be left out: 400 context_length_exceeded', async () => {
    fits(7);
    assertError(await post({}), 400, 'context_length_exceeded', 'input');
    fits(0);
    assertError(await post({ truncation: 'auto' }), 400, 'context_length_exceeded', 'input');
  });
});

describe('options that change nothing in POST /v1/responses', () => {
  const api = useApi();

  it('are accepted and ignored', async () => {
    for (const fields of [
      { context_management: [] },
      { context_management: [{ type: 'compaction', compact_threshold: 1000 }] },
      { prompt_cache_retention: '24h', prompt_cache_options: { ttl: '1h' } },
      { moderation: { model: 'omni-moderation-latest' } },
      { stream_options: { include_obfuscation: false } },
      { unheard_of: [{}] },
    ]) {
      playTurns(api.engine, says('Yes.'));
      const { status, json, text } = await api.send('POST', '/v1/responses', { body: { ...body, ...fields } });
      assert.equal(status, 200, text);
      assertSchema(ResponseResource, json);
      assert.deepEqual(chatPromptOf(api.engine.calls.at(-1)!).messages, [{ role: 'user', content: body.input }]);
    }
  });
});
