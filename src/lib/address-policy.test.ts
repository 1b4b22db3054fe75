import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AddressPolicy } from './address-policy.ts';
import { OperatorError } from './operator-error.ts';

describe('AddressPolicy', () => {
  const policy = new AddressPolicy([]);

  const blocked: Record<string, readonly string[]> = {
    unspecified: ['0.0.0.0', '0.1.2.3', '::'],
    loopback: ['127.0.0.1', '127.255.255.254', '::1'],
    private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd00::1', 'fc00::1', 'fec0::1'],
    'link-local': ['169.254.0.1', 'fe80::1', 'fe80::1%lo'],
    metadata: ['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'],
    'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
    multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
    'reserved and broadcast': [
      '240.0.0.1',
      '255.255.255.255',
      '198.18.0.1',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.1',
    ],
    'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8'],
    'IPv4-compatible': ['::127.0.0.1'],
    NAT64: ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1'],
    '6to4': ['2002:7f00:1::1', '2002:808:808::1'],
    Teredo: ['2001::1', '2001:0:7f00:1::1'],
    documentation: ['2001:db8::1', '3fff::1'],
    'no address': ['', 'localhost', '1.2.3', '0x7f000001'],
  };
  for (const [kind, addresses] of Object.entries(blocked)) {
    it(`blocks ${kind}`, () => {
      for (const address of addresses) assert.equal(policy.allows(address, 'example.com'), false, address);
    });
  }

  it('allows public addresses', () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1']) {
      assert.equal(policy.allows(address, 'example.com'), true, address);
    }
  });

  it('allows hosts, addresses and ranges of the operator, and nothing beside them', () => {
    const allowing = new AddressPolicy(['Wiki.Corp.example', '10.1.0.0/16', '192.168.0.7', 'fd00::/8']);
    const allowed = [
      ['127.0.0.1', 'wiki.corp.example.'],
      ['10.1.2.3', 'x'],
      ['192.168.0.7', 'x'],
      ['fd12::1', 'x'],
    ] as const;
    for (const [address, host] of allowed) assert.equal(allowing.allows(address, host), true, address);
    const others = [
      ['127.0.0.1', 'corp.example'],
      ['127.0.0.1', 'a.wiki.corp.example'],
      ['10.2.0.1', 'x'],
      ['192.168.0.8', 'x'],
      ['fc00::1', 'x'],
    ] as const;
    for (const [address, host] of others) assert.equal(allowing.allows(address, host), false, address);
  });

  it('rejects invalid ranges, and hosts with a scheme or a port', () => {
    for (const entry of [
      '127.0.0.1:9000',
      'db:5432',
      '[::1]:80',
      'http://wiki',
      '10.0.0.0/33',
      '10.0.0.0/',
      'a/8',
      'fd00::/129',
      '10.0.0.0/x',
    ]) {
      assert.throws(() => new AddressPolicy([entry]), OperatorError, entry);
    }
  });
});
