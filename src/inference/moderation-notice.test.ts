import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModerationNotice } from '../lib/screen.ts';
import { noticeHeaders, viewNotices } from './moderation-notice.ts';

const notice = (
  stage: 'input' | 'output',
  action: 'warn' | 'block',
  reason: string,
  flagged = true,
): ModerationNotice => ({
  ...{ stage, action, flagged, policyId: `${stage} ${action}`, reasons: [reason, 'common'] },
});

describe('viewNotices', () => {
  it('names the output before the input, and a block before a warning, whatever the order', () => {
    const [input, warned, blocked] = [
      notice('input', 'block', 'a'),
      notice('output', 'warn', 'b'),
      notice('output', 'block', 'c'),
    ];
    const policy = (...notices: ModerationNotice[]) => viewNotices(notices).moderation?.policy_id;
    for (const notices of [
      [input, warned, blocked],
      [blocked, warned, input],
    ]) {
      assert.equal(policy(...notices), 'output block');
    }
    assert.equal(policy(input, warned), 'output warn');
    assert.equal(policy(notice('input', 'warn', 'd'), input), 'input block');
  });

  it('is flagged when one stage is, has every reason once, and each stage with its own', () => {
    const { moderation } = viewNotices([
      notice('output', 'warn', 'b'),
      notice('input', 'warn', 'a', false),
      null,
      notice('output', 'block', 'c'),
    ]);
    assert.deepEqual([moderation?.flagged, moderation?.reasons], [true, ['a', 'common', 'b', 'c']]);
    assert.deepEqual(moderation?.stages, [
      { stage: 'input', flagged: false, action: 'warn', reasons: ['a', 'common'] },
      { stage: 'output', flagged: true, action: 'block', reasons: ['b', 'common', 'c'] },
    ]);
    assert.equal(viewNotices([notice('input', 'warn', 'a', false)]).moderation?.flagged, false);
    assert.deepEqual(viewNotices([null]), {});
  });
});

describe('noticeHeaders', () => {
  const warning = (...notices: (ModerationNotice | null)[]) => noticeHeaders(notices)['x-moderation-warning'];

  it('warns of each stage once, input first', () => {
    const [input, output] = [notice('input', 'warn', 'a'), notice('output', 'warn', 'b')];
    assert.equal(warning(input), 'flagged');
    assert.equal(warning(output), 'output_flagged');
    assert.equal(warning(output, input, input, null), 'flagged, output_flagged');
  });

  it('says unscreened once, and beside what another stage says', () => {
    const [input, output] = [notice('input', 'warn', 'a', false), notice('output', 'warn', 'b', false)];
    assert.equal(warning(input, output), 'unscreened');
    assert.equal(warning(input, notice('output', 'warn', 'b')), 'unscreened, output_flagged');
    assert.equal(warning(input, notice('input', 'warn', 'b')), 'flagged');
  });

  it('a replaced output needs no warning, and does not hide that of the input', () => {
    const blocked = notice('output', 'block', 'c');
    assert.equal(warning(blocked), undefined);
    assert.equal(noticeHeaders([blocked])['x-guardrail-policy'], 'output block');
    assert.equal(warning(blocked, notice('input', 'warn', 'a')), 'flagged');
    assert.deepEqual(noticeHeaders([null]), {});
  });
});
