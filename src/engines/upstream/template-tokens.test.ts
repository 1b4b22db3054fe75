import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chatRequest, collectGeneration, textRequest } from '../../../test/engine-conformance.ts';
import { respondWithBody, scripted } from '../../../test/fixtures/scripted-upstream.ts';
import type { ChatPrompt, GenerationEngine, GenerationRequest } from '../engine.ts';
import { unknownTemplateTokens } from '../template-tokens.ts';

const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
const usage = { prompt_tokens: 30, completion_tokens: 1 };
const request = chatRequest('Hello');
const prompt = request.prompt as ChatPrompt;
const UNKNOWN = unknownTemplateTokens(prompt.messages);
const bound = (engine: GenerationEngine, changes: Partial<GenerationRequest> = {}) =>
  engine.features().templateTokens?.({ ...request, ...changes, prompt }) ?? null;
const SCHEMA = { type: 'json_schema', name: 'a', strict: true, schema: { type: 'object' } } as const;

describe('the template of an upstream', () => {
  it('is bounded by the least tokens that it reported for a prompt with these roles', async (t) => {
    let promptTokens = 400;
    const { engine } = await scripted(t, (_request, response) => {
      response.end(JSON.stringify({ choices, usage: { ...usage, prompt_tokens: promptTokens } }));
    });
    assert.equal(bound(engine), UNKNOWN);
    for (const [reported, expected] of [
      [400, 416],
      [30, 46],
      [200, 46],
    ] as const) {
      promptTokens = reported;
      await collectGeneration(engine, request);
      assert.equal(bound(engine), expected);
    }
  });

  const others: [name: string, made: GenerationRequest, reported: object | null][] = [
    ['an answer without usage', request, null],
    ['a format', { ...request, format: { type: 'json_object' } }, usage],
    ['parameters of the server', { ...request, upstreamParameters: { documents: [] } }, usage],
    ['a text completion', textRequest('Hello'), usage],
  ];
  for (const [name, made, reported] of others) {
    it(`is not learned from ${name}`, async (t) => {
      const body = { choices: [{ ...choices[0], text: 'Hi' }], ...(reported && { usage: reported }) };
      const { engine } = await scripted(t, respondWithBody(200, body));
      await collectGeneration(engine, made);
      assert.equal(bound(engine), UNKNOWN);
    });
  }

  it('is not known for a format, which may be described in the prompt, and for parameters of the server', async (t) => {
    const { engine } = await scripted(t, respondWithBody(200, { choices, usage }));
    await collectGeneration(engine, request);
    assert.equal(bound(engine), 46);
    assert.equal(bound(engine, { format: SCHEMA }), null);
    assert.equal(bound(engine, { upstreamParameters: { documents: [] } }), null);
    assert.equal(bound(engine, { upstreamParameters: {} }), 46);
  });
});
