import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { stream } from '../../test/scripted-engine.ts';
import type { GenerationEvent, GenerationRequest, TokenLogprob } from '../engines/engine.ts';
import { legacyLogprobs, promptLogprobs } from './legacy-logprobs.ts';
import { Completion, CompletionChunk } from './schema.ts';

const logprob = (token: string, value: number): TokenLogprob => ({
  token,
  logprob: value,
  bytes: null,
  top: [{ token, logprob: value, bytes: null }],
});

/** Completes each choice with the prompt in capitals and the index of the choice; later choices are likelier. */
function shout({
  prompt,
  choices,
  logprobs,
  promptLogprobs,
}: GenerationRequest): AsyncGenerator<GenerationEvent, void, undefined> {
  const text = prompt.kind === 'text' ? prompt.text.toUpperCase() : '';
  const events = Array.from({ length: choices }, (_, choice): GenerationEvent[] => [
    {
      type: 'text-delta',
      choice,
      text,
      tokens: 1,
      ...(logprobs !== null && { logprobs: [logprob(text, choice - 20)] }),
    },
    {
      type: 'text-delta',
      choice,
      text: ` ${choice}`,
      tokens: 1,
      ...(logprobs !== null && { logprobs: [logprob(` ${choice}`, -1)] }),
    },
    { type: 'choice-end', choice, reason: choice % 2 === 0 ? 'length' : 'stop' },
  ]);
  return stream<GenerationEvent>([
    {
      type: 'prompt-end',
      promptTokens: 3,
      cachedTokens: 1,
      ...(promptLogprobs && { promptLogprobs: [{ ...logprob(' ', 0), logprob: null, top: [] }, logprob('ab', -2)] }),
    },
    ...events.toReversed().flat(),
    { type: 'usage', usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 2 * choices } },
  ]);
}

describe('POST /v1/completions', () => {
  const api = useApi();
  const complete = (body: object) => {
    api.engine.play(shout);
    return api.send('POST', '/v1/completions', { body: { model: 'general-8b', ...body } });
  };
  const choiceTexts = (choices: { index: number; text: string }[]) => {
    const texts: string[] = [];
    for (const { index, text } of choices) texts[index] = (texts[index] ?? '') + text;
    return texts;
  };

  it('200 with the answer in the form of the schema and no other field, 16 tokens at most', async () => {
    const answer = await complete({ prompt: 'a' });
    assert.equal(answer.status, 200);
    assertSchema(Completion, answer.json);
    assert.equal(answer.json.choices[0].text, 'A 0');
    assert.equal(answer.json.choices[0].finish_reason, 'length');
    assert.equal(answer.headers.get('x-cache-status'), 'HIT');
    assert.equal(api.engine.calls.at(-1)?.request.maxTokens, 16);
  });

  it('returns n completions of each prompt in order; a stream has the same content', async () => {
    const body = { prompt: ['a', 'b', 'c'], n: 2 };
    const whole = await complete(body);
    const expected = ['A 0', 'A 1', 'B 0', 'B 1', 'C 0', 'C 1'];
    assert.deepEqual(choiceTexts(whole.json.choices), expected);
    assert.deepEqual(whole.json.usage, {
      prompt_tokens: 9,
      completion_tokens: 12,
      total_tokens: 21,
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    const streamed = chunks((await complete({ ...body, stream: true, stream_options: { include_usage: true } })).text);
    for (const chunk of streamed) assertSchema(CompletionChunk, chunk);
    assert.deepEqual(streamed.at(-1).usage, whole.json.usage);
    assert.deepEqual(new Set(streamed.slice(0, -1).map(({ usage }) => usage)), new Set([null]));
    for (const stream_options of [{}, { include_usage: false }, null]) {
      const plain = chunks((await complete({ ...body, stream: true, stream_options })).text);
      assert.ok(plain.every((chunk) => chunk.choices.length === 1 && !('usage' in chunk)));
    }
    const choices = streamed.flatMap((chunk) => chunk.choices);
    assert.deepEqual(choiceTexts(choices), expected);
    const reasons = choices.filter((choice) => choice.finish_reason !== null);
    assert.deepEqual(
      reasons.map(({ index, finish_reason }) => [index, finish_reason]).toSorted(),
      whole.json.choices.map(({ index, finish_reason }: { index: number; finish_reason: string }) => [
        index,
        finish_reason,
      ]),
    );
  });

  it('echo returns the prompt before each completion, streamed or not', async () => {
    const body = { prompt: ['a', 'b'], n: 2, echo: true };
    assert.deepEqual(choiceTexts((await complete(body)).json.choices), ['aA 0', 'aA 1', 'bB 0', 'bB 1']);
    const streamed = chunks((await complete({ ...body, stream: true })).text);
    assert.deepEqual(choiceTexts(streamed.flatMap((chunk) => chunk.choices)), ['aA 0', 'aA 1', 'bB 0', 'bB 1']);
  });

  it('best_of returns the n best by mean log probability, and bills all candidates', async () => {
    const { json } = await complete({ prompt: 'a', best_of: 4, n: 2 });
    assert.deepEqual(choiceTexts(json.choices), ['A 3', 'A 2']);
    assert.equal(json.usage.completion_tokens, 8);
    assert.equal(json.choices[0].logprobs, null);
  });

  it('best_of numbers the choices of several prompts without gaps: n for each prompt', async () => {
    const { json } = await complete({ prompt: ['a', 'b', 'c'], best_of: 3, n: 2 });
    assert.deepEqual(
      json.choices.map(({ index, text }: { index: number; text: string }) => [index, text]),
      ['A 2', 'A 1', 'B 2', 'B 1', 'C 2', 'C 1'].entries().toArray(),
    );
  });

  it('logprobs have the legacy format, with text offsets', async () => {
    const { json } = await complete({ prompt: 'ab', logprobs: 1 });
    assertSchema(Completion, json);
    assert.deepEqual(json.choices[0].logprobs, {
      tokens: ['AB', ' 0'],
      token_logprobs: [-20, -1],
      top_logprobs: [{ AB: -20 }, { ' 0': -1 }],
      text_offset: [0, 2],
    });
    const streamed = chunks((await complete({ prompt: 'ab', logprobs: 1, stream: true })).text);
    const offsets = streamed.flatMap((chunk) => chunk.choices[0].logprobs?.text_offset ?? []);
    assert.deepEqual(offsets, [0, 2]);
  });

  it('the alternatives of a token always include it', () => {
    const top = [{ token: 'b', logprob: -0.1, bytes: null }];
    assert.deepEqual(legacyLogprobs([{ token: 'a', logprob: -3, bytes: null, top }], 0).top_logprobs, [
      { a: -3, b: -0.1 },
    ]);
  });

  it('text offsets count characters, and a token inside a character starts where the character does', () => {
    const tokens = [[97], [0xf0, 0x9f], [0x98, 0x80], [98], [0xc3], [0xa9], [99]].map((bytes) => {
      const token = Buffer.from(bytes).toString('utf8');
      return { token, bytes, logprob: -1, top: [] };
    });
    assert.deepEqual(legacyLogprobs(tokens, 2).text_offset, [2, 3, 3, 5, 6, 6, 7]);
    // The tokenizer has added a space that the text does not have.
    assert.deepEqual(
      promptLogprobs([{ ...tokens[0]!, token: ' ', bytes: [32] }, ...tokens], 'a😀béc').text_offset,
      [0, 0, 1, 1, 3, 4, 4, 5],
    );
  });

  it('best_of of 0 means as many as n; max_tokens may be 0', async () => {
    assert.equal((await complete({ prompt: 'a', n: 2, best_of: 0 })).json.choices.length, 2);
    await complete({ prompt: 'a', max_tokens: 0, echo: true });
    assert.equal(api.engine.calls.at(-1)!.request.maxTokens, 0);
    assertError(await complete({ prompt: 'a', max_tokens: -1 }), 400, 'invalid_value', 'max_tokens');
  });

  it('echo with logprobs includes the prompt tokens, the first with null, streamed or not', async () => {
    api.engine.judgesPrompts = true;
    const body = { prompt: 'ab', n: 2, logprobs: 1, echo: true };
    const { json } = await complete(body);
    assertSchema(Completion, json);
    // The tokenizer added a space before the text, which is not echoed.
    const expected = {
      tokens: [' ', 'ab', 'AB', ' 1'],
      token_logprobs: [null, -2, -19, -1],
      top_logprobs: [null, { ab: -2 }, { AB: -19 }, { ' 1': -1 }],
      text_offset: [0, 0, 2, 4],
    };
    assert.deepEqual(json.choices[1].logprobs, expected);
    const streamed = chunks((await complete({ ...body, stream: true })).text).map((chunk) => chunk.choices[0]);
    const second = streamed.filter(({ index }) => index === 1).flatMap(({ logprobs }) => logprobs ?? []);
    for (const field of ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'] as const) {
      assert.deepEqual(
        second.flatMap((part) => part[field]),
        expected[field],
      );
    }
    api.engine.judgesPrompts = false;
  });

  it('400 for suffix where the model has no fill-in-the-middle tokens, and for contradictions', async () => {
    assertError(await complete({ prompt: 'a', suffix: 'b' }), 400, 'invalid_value', 'suffix');
    assertError(await complete({ prompt: 'a', n: 3, best_of: 2 }), 400, 'invalid_value', 'best_of');
    assertError(await complete({ prompt: 'a', best_of: 2, stream: true }), 400, 'invalid_value', 'best_of');
    assertError(await complete({ prompt: 'a', echo: true, logprobs: 0 }), 400, 'invalid_value', 'logprobs');
  });

  it('a failing prompt aborts the others and determines the response', async () => {
    api.engine.play((request) => {
      if (request.prompt.kind === 'text' && request.prompt.text === 'bad') throw new Error('engine fault');
      return shout(request);
    });
    const body = { model: 'general-8b', prompt: ['a', 'bad', 'c'] };
    assertError(await api.send('POST', '/v1/completions', { body }), 500, 'server_error');
    assert.ok(api.engine.calls.every((call) => call.ended));
  });

  it('runs a bounded number of prompts concurrently', async () => {
    let running = 0;
    let most = 0;
    api.engine.play(async function* (request) {
      running += 1;
      most = Math.max(most, running);
      yield { type: 'prompt-end', promptTokens: 1, cachedTokens: 0 };
      await new Promise((resolve) => setTimeout(resolve, 2));
      yield {
        type: 'text-delta',
        choice: 0,
        text: request.prompt.kind === 'text' ? request.prompt.text : '',
        tokens: 1,
      };
      yield { type: 'choice-end', choice: 0, reason: 'stop' };
      running -= 1;
      yield { type: 'usage', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } };
    });
    const prompt = Array.from({ length: 128 }, (_, at) => `p${at}`);
    const { json } = await api.send('POST', '/v1/completions', { body: { model: 'general-8b', prompt } });
    assert.deepEqual(choiceTexts(json.choices), prompt);
    assert.ok(most > 1 && most <= 8, `${most} at once`);
  });

  it('404, 401 and 403 as every route', async () => {
    assertError(await complete({ prompt: 'a', model: 'nothing' }), 404, 'model_not_found', 'model');
    const body = { model: 'general-8b', prompt: 'a' };
    assertError(await api.send('POST', '/v1/completions', { body, key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['files'] });
    assertError(await api.send('POST', '/v1/completions', { body, key }), 403, 'insufficient_scope');
  });
});
