import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import { CALL_KINDS } from '../../test/support/awkward.ts';
import type { ChatPrompt, OutputFormat } from '../engines/engine.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { costBounds, generationBounds, grantedOutputTokens, rerankBounds, textBounds } from './cost-bounds.ts';

/** 1 credit per 1,000 prompt tokens, 2 per 1,000 tokens of output; a context of 4,096 tokens. */
const model = servedModel(scriptedEngine());
const call: Call = {
  caller: serviceCaller('org_1', 'key_1'),
  requestId: 'req_1',
  endpoint: '/v1/test',
  priority: 'interactive',
};
const TEXT = { type: 'text' } as const;
const textPrompt = (text: string) => ({ kind: 'text', text, suffix: null }) as const;

describe('cost bounds of a call', () => {
  it('reserve at least a token per byte of the prompt, and at most the context', () => {
    const bound = (prompt: ChatPrompt | ReturnType<typeof textPrompt>) =>
      generationBounds(model, { prompt, choices: 1, maxTokens: 10, format: TEXT }).promptTokens;
    assert.ok(bound(textPrompt('\u{1f600}'.repeat(100))) >= 400);
    assert.equal(bound(textPrompt('a'.repeat(10_000))), 4_096);
    const chat = (parameters: Record<string, unknown>): ChatPrompt => ({
      kind: 'chat',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
      toolChoice: 'auto',
      parallelToolCalls: true,
    });
    assert.ok(bound(chat({ ['x'.repeat(500)]: 1 })) >= bound(chat({})) + 500, 'names of a tool schema count');
  });

  it('reserve 16,384 tokens for an image, whatever its bytes, and at most the context', () => {
    const bound = (contextTokens: number, urls: readonly string[]) => {
      const images = urls.map((url) => ({ at: 0, url }));
      const messages = [{ role: 'user' as const, content: 'Hi', ...(images.length > 0 && { images }) }];
      const prompt: ChatPrompt = { kind: 'chat', messages, tools: [], toolChoice: 'none', parallelToolCalls: true };
      const seeing = servedModel({ ...scriptedEngine(), contextLength: () => contextTokens }, contextTokens);
      return generationBounds(seeing, { prompt, choices: 1, maxTokens: 10, format: TEXT }).promptTokens;
    };
    const text = bound(1_000_000, []);
    assert.ok(text < 1_000);
    assert.equal(bound(1_000_000, ['data:a']), text + 16_384);
    assert.equal(bound(1_000_000, ['data:a', `data:${'a'.repeat(100_000)}`]), text + 2 * 16_384);
    assert.equal(bound(4_096, ['data:a']), 4_096);
  });

  it('count the arguments of calls in the conversation, and the indentation of tools', () => {
    const bound = (changes: Partial<ChatPrompt>) => {
      const prompt: ChatPrompt = {
        ...{ kind: 'chat', messages: [], tools: [], toolChoice: 'auto', parallelToolCalls: true },
        ...changes,
      };
      return generationBounds(servedModel({ ...scriptedEngine(), contextLength: () => 100_000 }, 100_000), {
        prompt,
        choices: 1,
        maxTokens: 1,
        format: TEXT,
      }).promptTokens;
    };
    const calling = (argument: string): Partial<ChatPrompt> => {
      const call = { id: 'c', type: 'function', function: { name: 'f', arguments: argument } } as const;
      return { messages: [{ role: 'assistant', content: null, tool_calls: [call] }] };
    };
    assert.ok(bound(calling('x'.repeat(2_000))) >= bound(calling('')) + 2_000);
    let parameters: Record<string, unknown> = { type: 'string' };
    for (let depth = 0; depth < 40; depth++) parameters = { type: 'object', properties: { a: parameters } };
    const tools = [{ type: 'function', function: { name: 'f', parameters } }] as const;
    assert.ok(bound({ tools }) >= JSON.stringify(tools, null, 4).length);
  });

  it('count the schema of a format that a server may describe in the prompt', () => {
    const prompt = { kind: 'chat', messages: [], tools: [], toolChoice: 'none', parallelToolCalls: false } as const;
    const schema = { enum: ['x'.repeat(500)] };
    const format = { type: 'json_schema', name: 'a', strict: true, schema } as const;
    const bound = (templateTokens: number | null, asked: OutputFormat) => {
      const features = () => ({ suffix: false, promptLogprobs: false, templateTokens: () => templateTokens });
      const served = servedModel(Object.assign(scriptedEngine(), { features }));
      return generationBounds(served, { prompt, choices: 1, maxTokens: 1, format: asked }).promptTokens;
    };
    assert.ok(bound(null, format) >= bound(null, TEXT) + 500);
    assert.deepEqual([bound(7, TEXT), bound(7, format)], [7, 7]);
  });

  it('reserve the output limit of every choice; without a limit, the context', () => {
    const bounds = (choices: number, maxTokens: number | null) =>
      costBounds(
        { ...generationBounds(model, { prompt: textPrompt(''), choices, maxTokens, format: TEXT }), promptTokens: 0 },
        model,
        call,
      );
    assert.deepEqual(bounds(1, 10), { minMicros: 2_000, maxMicros: 20_000 });
    assert.deepEqual(bounds(3, 10), { minMicros: 6_000, maxMicros: 60_000 });
    assert.equal(bounds(1, null).maxMicros, 4_096 * 2_000);
    assert.equal(bounds(1, 100_000).maxMicros, 4_096 * 2_000);
  });

  for (const { name, isBatchLine, priceShare } of CALL_KINDS) {
    const priced: Call = { ...call, isBatchLine };
    const share = (micros: number) => micros * priceShare;

    it(`are the price of ${name}`, () => {
      const bounds = { promptTokens: 10, output: { choices: 1, maxTokens: 10 } };
      assert.deepEqual(costBounds(bounds, model, priced), { minMicros: share(12_000), maxMicros: share(30_000) });
    });

    it(`lower the output limit of each choice to what was granted ${name}`, () => {
      const bounds = { promptTokens: 10, output: { choices: 2, maxTokens: 10 } };
      assert.equal(grantedOutputTokens(share(50_000), bounds, model, priced), null);
      assert.equal(grantedOutputTokens(share(30_000), bounds, model, priced), 5);
      assert.equal(grantedOutputTokens(share(30_000) - 1, bounds, model, priced), 4);
      assert.equal(grantedOutputTokens(share(30_000), { promptTokens: 10, output: null }, model, priced), null);
    });
  }

  it('count all texts, and the query of a rerank for each document', () => {
    assert.ok(textBounds(['abc', 'de']).promptTokens >= 5);
    const one = rerankBounds('query', ['a']).promptTokens;
    assert.equal(rerankBounds('query', ['a', 'a']).promptTokens, 2 * one);
    assert.ok(rerankBounds('a longer query', ['a']).promptTokens > one);
  });
});
