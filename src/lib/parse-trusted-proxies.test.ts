import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/config.ts';

const read = (value: string) => loadConfig({ QUIRE_TRUSTED_PROXIES: value, QUIRE_CONFIG: '/dev/null' }).trustedProxies;

describe('QUIRE_TRUSTED_PROXIES', () => {
  it('is a list of addresses and ranges; none unless set', () => {
    assert.equal(read(''), null);
    const entries = ['127.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32', '203.0.113.7/32', '::ffff:10.0.0.1'];
    assert.deepEqual(read(entries.join(', ')), entries);
  });

  for (const wrong of [
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '10.0.0.0/-1',
    '10.0.0.0/255.0.0.0',
    '2001:db8::/129',
    'fe80::1%eth0',
    '0.0.0.0/0',
    '::/0',
    '::ffff:10.0.0.0/104',
    'loopback',
    'true',
    "10.0.0.1'",
  ]) {
    it(`${wrong} stops the start, and is named with the setting`, () => {
      assert.throws(
        () => read(`127.0.0.1,${wrong}`),
        (error: Error) => {
          assert.ok(error.message.startsWith('QUIRE_TRUSTED_PROXIES has a wrong value: it must be'), error.message);
          return error.message.includes(`'${wrong}'`);
        },
      );
    });
  }
});
