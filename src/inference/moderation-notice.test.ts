import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModerationNotice } from '../lib/screen.ts';
import { mergeNotices } from './moderation-notice.ts';

const notice = (
  stage: 'input' | 'output',
  action: 'warn' | 'block',
  reason: string,
  flagged = true,
): ModerationNotice => ({
  ...{ stage, action, flagged, policyId: `${stage} ${action}`, reasons: [reason, 'common'] },
});

describe('mergeNotices', () => {
  it('names the output before the input, and a block before a warning, whatever the order', () => {
    const [input, warned, blocked] = [
      notice('input', 'block', 'a'),
      notice('output', 'warn', 'b'),
      notice('output', 'block', 'c'),
    ];
    const policy = (...notices: ModerationNotice[]) => mergeNotices(notices)?.policyId;
    for (const notices of [
      [input, warned, blocked],
      [blocked, warned, input],
    ]) {
      assert.equal(policy(...notices), 'output block');
    }
    assert.equal(policy(input, warned), 'output warn');
    assert.equal(policy(notice('input', 'warn', 'd'), input), 'input block');
  });

  it('is flagged when one of them is, and has every reason once', () => {
    const merged = mergeNotices([notice('input', 'warn', 'a', false), null, notice('output', 'warn', 'b')]);
    assert.deepEqual([merged?.flagged, merged?.reasons], [true, ['a', 'common', 'b']]);
    assert.equal(mergeNotices([notice('input', 'warn', 'a', false)])?.flagged, false);
    assert.equal(mergeNotices([null]), null);
  });
});
