import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clientNetwork } from './client-network.ts';

describe('the network of a client', () => {
  for (const [address, network] of [
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:cb00:7109', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    ['', ''],
    ['unknown', 'unknown'],
    ['12', '12'],
  ] as const) {
    it(`of ${address || 'no address'} is ${network || 'none'}`, () => assert.equal(clientNetwork(address), network));
  }
});
