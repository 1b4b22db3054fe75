import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { normalizeText, toSkeleton } from './normalize-text.ts';
import { resolveThresholds } from './policy.ts';
import { PolicyEvaluator } from './policy-evaluator.ts';
import type { TopicRule } from './topic-matcher.ts';

/** Longer than two windows. */
const LONG = 70_000;

describe('PolicyEvaluator', () => {
  const evaluator = (topicDenyList: TopicRule[], matchConfusables = false) =>
    new PolicyEvaluator({
      blockOnFlag: true,
      thresholds: resolveThresholds({}),
      topicDenyList,
      matchConfusables,
      applyTo: ['input'],
    });
  const evaluate = async (topics: string[], text: string, matchConfusables = false) => {
    const rules = topics.map((topic) => ({ topic, action: 'block' }) as const);
    const [evaluation] = await evaluator(rules, matchConfusables).evaluateTopics([text], 'a');
    assert.ok(evaluation);
    return evaluation.topics;
  };

  it('returns offsets in the normalized text, in long texts too', async () => {
    const noise = 'a\u200b  \n\u00e9e\u0301\ufb03 \u{1d173}x \u0928\u093c ';
    // Every position of the noise is at the end of a window once.
    for (const [shift, repeats] of [[0, 1], ...Array.from(noise, (_, index) => [index, LONG / 18])] as const) {
      const text = `${'b'.repeat(shift)}${noise.repeat(repeats)} Pro\u200bject \n\t Falcon ${noise.repeat(repeats)}`;
      const [found, ...others] = await evaluate(['project falcon'], text);
      assert.deepEqual(others, []);
      assert.equal(normalizeText(text).slice(found?.start, found?.end), 'project falcon');
    }
  });

  it('finds topics across the ends of windows, whatever stands within them', async () => {
    const fillings = [
      ' ',
      '\n\n',
      '\u200b \u200b',
      ' '.repeat(LONG),
      `\u200b${' '.repeat(40)}`,
      ` ${'\u{e0061}'.repeat(LONG)}`,
    ];
    for (const filling of fillings) {
      for (let offset = -40; offset <= 2; offset += 1) {
        const text = `${'b '.repeat((32_768 + offset) >> 1)}project${filling}falcon c`;
        const [found] = await evaluate(['project falcon'], text);
        assert.ok(found, `${JSON.stringify(filling.slice(0, 9))} at ${offset}`);
      }
    }
  });

  it('takes no part of a word for a topic where a window ends', async () => {
    for (let offset = -12; offset <= 2; offset += 1) {
      const before = 32_768 + offset;
      const words = [
        'hateful',
        'hates',
        'hate𠀀',
        '𠀀hate',
        'hate\u0301',
        'whate',
        '𐐀hate',
        'whate\u200b c d e',
        'hat\u200b𝐞d',
      ];
      for (const word of words) {
        const text = `${'b'.repeat(before)} ${word} ${'c '.repeat(LONG / 2)}`;
        assert.deepEqual(await evaluate(['hate'], text), [], `${word} at ${offset}`);
      }
      const glued = `${'x'.repeat(before)}hate${'x'.repeat(LONG)}`;
      assert.deepEqual(await evaluate(['hate'], glued), [], `${offset}`);
    }
  });

  it('blocks by a topic that the deny list has twice, with the action warn first', async () => {
    const rules: TopicRule[] = [
      { topic: 'hate', action: 'warn' },
      { topic: 'Hate', action: 'block' },
      { topic: 'hate', action: 'block' },
    ];
    for (const text of ['hate', `${'b '.repeat(LONG)}hate`]) {
      const [evaluation] = await evaluator(rules).evaluateTopics([text], 'a');
      assert.equal(evaluation?.action, 'block');
      assert.deepEqual(
        evaluation?.topics.map(({ topic, action }) => ({ topic, action })),
        rules,
      );
    }
  });

  it('matches lookalikes only where the policy says so, and prefers exact matches', async () => {
    const text = `f\u0430lcon ${'b '.repeat(LONG)}h\u0430te hate`;
    assert.deepEqual(
      (await evaluate(['hate', 'falcon'], text)).map(({ topic }) => topic),
      ['hate'],
    );
    const [hate, falcon, ...others] = await evaluate(['hate', 'falcon'], text, true);
    assert.deepEqual([hate?.isLookalike, falcon?.isLookalike, others], [false, true, []]);
    assert.equal(normalizeText(text).slice(hate?.start, hate?.end), 'hate');
    assert.equal(toSkeleton(text).slice(falcon?.start, falcon?.end), 'falcon');
    assert.deepEqual((await evaluate(['νόμος'], 'ΝΌΜΟΣ', true)).length, 1, 'a Greek topic in capitals');
  });
});
