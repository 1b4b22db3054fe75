import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashPassword, PASSWORD_COST, verifyPassword } from './password.ts';

describe('passwords', () => {
  it('are verified against a salted hash, in every Unicode spelling', async () => {
    const cost = { N: 16, r: 1, p: 1 };
    const hash = await hashPassword('pa\u00dfwort \u00e9', cost);
    assert.notEqual(hash, await hashPassword('pa\u00dfwort \u00e9', cost));
    // The cost in the hash applies, not the present one.
    assert.ok(await verifyPassword('pa\u00dfwort e\u0301', hash, PASSWORD_COST));
    assert.ok(!(await verifyPassword('passwort e', hash, cost)));
    assert.ok(!(await verifyPassword('', null, cost)));
  });

  it('are hashed for client networks in turn, so that one with many attempts delays others by one', async () => {
    const cost = { N: 2 ** 13, r: 8, p: 1 };
    const finished: string[] = [];
    const hash = async (address: string) => {
      await hashPassword('a password', cost, address);
      finished.push(address);
    };
    const flood = Array.from({ length: 12 }, (_, at) => hash(`2001:db8::${at}`));
    await Promise.all([...flood, hash('203.0.113.1'), hash('203.0.113.2'), hash('203.0.113.3')]);
    // First come first served, they would be the last three.
    assert.ok(finished.lastIndexOf('203.0.113.3') < 10, finished.join(' '));
  });
});
