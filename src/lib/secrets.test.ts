import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSecrets, DecryptionError } from './secrets.ts';

const KEY = 'a key of this test, which is long enough';
const OTHER = 'another key of this test, long enough too';

describe('createSecrets', () => {
  it('decrypts its own ciphertext, which does not contain the text', () => {
    for (const text of ['', 'pässword', JSON.stringify({ secret_access_key: 'wJalrXUtn' }), 'x'.repeat(100_000)]) {
      const sealed = createSecrets(KEY).seal(text, 'ds_1');
      assert.equal(createSecrets(KEY).open(sealed, 'ds_1'), text);
      if (text !== '') assert.ok(!Buffer.from(sealed, 'base64').includes(text));
    }
  });

  it('seals the same text differently each time', () => {
    const { seal } = createSecrets(KEY);
    assert.equal(new Set(Array.from({ length: 100 }, () => seal('text', 'ds_1'))).size, 100);
  });

  it('rejects another key, another owner, and ciphertext modified in any byte', () => {
    const sealed = createSecrets(KEY).seal('text', 'ds_1');
    const { open } = createSecrets(KEY);
    assert.throws(() => createSecrets(OTHER).open(sealed, 'ds_1'), DecryptionError);
    assert.throws(() => open(sealed, 'ds_2'), DecryptionError);
    const bytes = Buffer.from(sealed, 'base64');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => open(changed.toString('base64'), 'ds_1'), DecryptionError, `byte ${at}`);
      assert.throws(() => open(bytes.subarray(0, at).toString('base64'), 'ds_1'), DecryptionError, `${at} bytes`);
    }
  });

  it('decrypts values of earlier keys, and encrypts with the current key', () => {
    const sealed = createSecrets(OTHER).seal('text', 'ds_1');
    const both = createSecrets(KEY, [OTHER]);
    assert.equal(both.open(sealed, 'ds_1'), 'text');
    assert.equal(createSecrets(KEY).open(both.seal('text', 'ds_1'), 'ds_1'), 'text');
  });
});
