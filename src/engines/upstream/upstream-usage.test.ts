import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseUsage } from './upstream-usage.ts';

describe('the usage that an upstream reports', () => {
  it('has the counts of its details that OpenAI names, and no others', () => {
    const usage = {
      ...{ prompt_tokens: 9, completion_tokens: 4 },
      prompt_tokens_details: { cached_tokens: 2, image_tokens: 5, audio_tokens: 0, secret: 1, text_tokens: null },
      completion_tokens_details: { reasoning_tokens: 3, rejected_prediction_tokens: 1, text_tokens: -1 },
    };
    assert.deepEqual(parseUsage({ usage }), {
      ...{ promptTokens: 9, cachedTokens: 2, completionTokens: 4, reasoningTokens: 3 },
      promptDetails: { image_tokens: 5, audio_tokens: 0 },
      completionDetails: { rejected_prediction_tokens: 1 },
    });
  });

  it('has no details without counts', () => {
    const counts = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
    for (const details of [undefined, null, [], 'x', {}, { image_tokens: '5' }]) {
      const usage = { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: details };
      assert.deepEqual(parseUsage({ usage }), counts);
    }
  });
});
