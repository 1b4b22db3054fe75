import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toChanges, toConfigured, toSettings } from './run-settings.ts';

const FULL = {
  configuration: {
    model: 'general-8b',
    search_type: 'hybrid' as const,
    hybrid_weight: 0,
    top_k: 50,
    rerank: true,
    rerank_model: 'reranker-v2-m3',
  },
  judge_model: 'general-70b',
};

describe('the settings of a run', () => {
  it('survive the form unchanged, a weight of 0 and the reranker too', () => {
    assert.deepEqual(toConfigured(toSettings(FULL)), FULL);
    assert.deepEqual(toChanges(toSettings(FULL)), FULL);
  });

  it('are those of chats by default', () => {
    const configuration = { search_type: 'hybrid', top_k: 10, rerank: false };
    assert.deepEqual(toConfigured(toSettings()), { configuration, judge_model: null });
  });

  it('remove fields of the set by null', () => {
    const settings = { ...toSettings(FULL), model: null, hybrid_weight: null };
    const { configuration, judge_model } = toChanges(settings);
    assert.deepEqual([configuration.model, configuration.hybrid_weight, judge_model], [null, null, null]);
  });

  it('have a weight for hybrid searches only', () => {
    const settings = { ...toSettings(FULL), search_type: 'keyword' as const };
    assert.equal(toChanges(settings).configuration.hybrid_weight, null);
    assert.ok(!('hybrid_weight' in toConfigured(settings).configuration));
  });
});
