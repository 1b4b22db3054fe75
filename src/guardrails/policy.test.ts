import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModerationScores } from '../engines/moderation-engine.ts';
import { appliesTo, decide, needsScores, resolveThresholds } from './policy.ts';

const SAFE: ModerationScores = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };
const topic = (action: 'block' | 'warn') => ({ topic: 'falcon', action, start: 0, end: 6 });

describe('resolveThresholds', () => {
  it('gives 0.5 to categories that are absent or null', () => {
    assert.deepEqual(resolveThresholds({ hate: null, sexual: 1, violence: 0 }), {
      harassment: 0.5,
      hate: 0.5,
      self_harm: 0.5,
      sexual: 1,
      violence: 0,
    });
  });
});

describe('needsScores', () => {
  it('is false only when every category is disabled', () => {
    const disabled = { harassment: 1, hate: 1, self_harm: 1, sexual: 1, violence: 1 };
    assert.equal(needsScores(disabled), false);
    assert.equal(needsScores({ ...disabled, hate: 0.99 }), true);
  });
});

describe('appliesTo', () => {
  it('knows input, output and both', () => {
    assert.equal(appliesTo({ applyTo: ['input'] }, 'input'), true);
    assert.equal(appliesTo({ applyTo: ['input'] }, 'output'), false);
    assert.equal(appliesTo({ applyTo: ['output'] }, 'output'), true);
    assert.equal(appliesTo({ applyTo: ['both'] }, 'input'), true);
    assert.equal(appliesTo({ applyTo: ['both'] }, 'output'), true);
  });
});

describe('decide', () => {
  const policy = { thresholds: resolveThresholds({ sexual: 1 }), blockOnFlag: true };
  const action = (scores: Partial<ModerationScores>, topics: Parameters<typeof decide>[2] = [], blockOnFlag = true) =>
    decide({ ...policy, blockOnFlag }, { ...SAFE, ...scores }, topics).action;

  it('flags a score that is at its threshold, and none below', () => {
    assert.equal(action({ hate: 0.5 }), 'block');
    assert.equal(action({ hate: 0.4999 }), 'pass');
  });

  it('never flags a category whose threshold is 1.0, not even at a score of 1', () =>
    assert.equal(action({ sexual: 1 }), 'pass'));

  it('only warns when block_on_flag is false', () => {
    assert.equal(action({ hate: 1 }, [topic('block')], false), 'warn');
  });

  it('blocks a topic with the action block, and never one with the action warn', () => {
    assert.equal(action({}, [topic('block')]), 'block');
    assert.equal(action({}, [topic('warn')]), 'warn');
    assert.equal(action({ hate: 1 }, [topic('warn')]), 'block');
  });

  it('gives a reason for each category and each topic', () => {
    const { reasons } = decide(policy, { ...SAFE, hate: 0.812, violence: 1 }, [topic('warn')]);
    assert.deepEqual(reasons, [
      "category 'hate' scored 81 of 100",
      "category 'violence' scored 100 of 100",
      "topic 'falcon' (warn)",
    ]);
  });
});
