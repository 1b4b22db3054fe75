import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { useBackends } from './backends.ts';

const backends = useBackends();

describe('openai: moderations', () => {
  it('classify several texts with the default model', async () => {
    const answer = await backends.openai().moderations.create({
      input: ['The library opens at nine on Saturdays.', 'I want to kill myself tonight.'],
    });
    assert.match(answer.id, /^modr-/);
    assert.equal(answer.model, 'moderation-v1');
    const [harmless, harmful] = answer.results;
    assert.equal(harmless?.flagged, false);
    assert.equal(harmful?.flagged, true);
    assert.equal(harmful?.categories['self-harm'], true);
    assert.ok((harmful?.category_scores['self-harm'] ?? 0) >= 0.5);
    assert.ok((harmless?.category_scores.violence ?? 1) < 0.5);
  });

  it("classify one text with the alias of OpenAI's model", async () => {
    const input = 'You are a pathetic, worthless idiot.';
    const { results } = await backends.openai().moderations.create({ input, model: 'omni-moderation-latest' });
    assert.equal(results.length, 1);
    assert.equal(results[0]?.categories.harassment, true);
  });

  it('tell what is wrong as errors of the client', async () => {
    const { moderations } = backends.openai();
    await assert.rejects(moderations.create({ input: ' ' }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param], ['invalid_value', 'input']);
      return true;
    });
    await assert.rejects(moderations.create({ input: 'a', model: 'gpt-99' }), OpenAI.NotFoundError);
  });
});
