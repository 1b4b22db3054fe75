import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import { NO_GENERATION } from '../models/catalogue.ts';
import { estimateRequestTokens } from './estimate-request-tokens.ts';

const CONTEXT = 4_096;
const models = {
  get: (id: string) => {
    const model = servedModel(scriptedEngine(), CONTEXT);
    if (id === 'chat') return model;
    return id === 'embedding' ? { ...model, capabilities: NO_GENERATION } : undefined;
  },
};

const named = { image_url: 'data:image' };
const image = { image_url: { url: 'data:img' } };

describe('the estimate of tokens before a request', () => {
  const cases: [name: string, body: unknown, tokens: number][] = [
    ['the prompt by its bytes and 256 of output', { model: 'chat' }, 11 + 256],
    ['the output limit of chat', { model: 'chat', max_completion_tokens: 5, max_tokens: 7 }, 11 + 5],
    ['the output limit of responses', { model: 'chat', max_output_tokens: 6 }, 11 + 6],
    ['the output limit of completions', { model: 'chat', max_tokens: 7 }, 11 + 7],
    ['null as the absence of a limit', { model: 'chat', max_tokens: null }, 11 + 256],
    ['no more output than the context', { model: 'chat', max_tokens: 1_000_000 }, 11 + CONTEXT],
    ['every choice', { model: 'chat', max_tokens: 7, n: 3 }, 11 + 21],
    ['every candidate', { model: 'chat', max_tokens: 7, n: 3, best_of: 4 }, 11 + 28],
    ['every prompt', { model: 'chat', max_tokens: 7, prompt: ['a', 'b'] }, 11 + 14],
    ['one prompt that is a text', { model: 'chat', max_tokens: 7, prompt: 'ab' }, 11 + 7],
    ['no output of a model that does not generate', { model: 'embedding', max_tokens: 7 }, 11],
    ['no output of an unknown model', { model: 'unknown', max_tokens: 7 }, 11],
    ['no output without a model', null, 11],
    ['an image of a chat without its bytes', { model: 'chat', messages: [{ content: [image] }] }, 9 + 2048 + 256],
    [
      'images of a response without their bytes',
      { model: 'chat', input: [{ content: [named, named] }] },
      6 + 4096 + 256,
    ],
    ['texts beside images', { model: 'chat', messages: [null, { content: [null, 5, { text: 'a' }] }, 'b'] }, 11 + 256],
    ['what is no image', { model: 'chat', messages: 'a', input: [{ content: [{ image_url: {} }] }] }, 11 + 256],
    ['no less than nothing', { model: 'chat', input: [{ content: Array(9).fill(image) }] }, 9 * 2048 + 256],
  ];
  for (const [name, body, tokens] of cases) {
    it(`counts ${name}`, () => assert.equal(estimateRequestTokens(models, body, 41), tokens));
  }
});
