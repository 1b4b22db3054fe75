import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CannotOpen, secretsOf } from './secrets.ts';

const KEY = 'a key of this test, which is long enough';
const OTHER = 'another key of this test, long enough too';

describe('secretsOf', () => {
  it('opens what it has sealed, in another process too, and shows nothing of it', () => {
    for (const text of ['', 'pässword', JSON.stringify({ secret_access_key: 'wJalrXUtn' }), 'x'.repeat(100_000)]) {
      const sealed = secretsOf(KEY).seal(text, 'ds_1');
      assert.equal(secretsOf(KEY).open(sealed, 'ds_1'), text);
      if (text !== '') assert.ok(!Buffer.from(sealed, 'base64').includes(text));
    }
  });

  it('seals the same text differently each time', () => {
    const { seal } = secretsOf(KEY);
    assert.equal(new Set(Array.from({ length: 100 }, () => seal('text', 'ds_1'))).size, 100);
  });

  it('opens nothing that another key has sealed, for another owner, or that was changed in any byte', () => {
    const sealed = secretsOf(KEY).seal('text', 'ds_1');
    const { open } = secretsOf(KEY);
    assert.throws(() => secretsOf(OTHER).open(sealed, 'ds_1'), CannotOpen);
    assert.throws(() => open(sealed, 'ds_2'), CannotOpen);
    const bytes = Buffer.from(sealed, 'base64');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => open(changed.toString('base64'), 'ds_1'), CannotOpen, `byte ${at}`);
      assert.throws(() => open(bytes.subarray(0, at).toString('base64'), 'ds_1'), CannotOpen, `${at} bytes`);
    }
  });

  it('opens what an earlier key has sealed, and seals with the present one', () => {
    const sealed = secretsOf(OTHER).seal('text', 'ds_1');
    const both = secretsOf(KEY, [OTHER]);
    assert.equal(both.open(sealed, 'ds_1'), 'text');
    assert.equal(secretsOf(KEY).open(both.seal('text', 'ds_1'), 'ds_1'), 'text');
  });
});
