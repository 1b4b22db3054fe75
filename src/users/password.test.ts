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
});
