import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { forEachLocalDay } from '../../test/local-days.ts';
import type { ApiKey } from './api-key.tsx';
import { NEW_KEY, startOfMonth, toFields, toPolicyFields, toProperties } from './key-properties.ts';

describe('the form of a key', () => {
  const key = (more: object): ApiKey =>
    ({
      ...{ name: 'k', scopes: ['files'], models: null, knowledge_base_ids: null },
      ...{ limits: null, budget: null, expires_at: null },
      ...more,
    }) as ApiKey;

  it('sends what it shows of a key that nobody has changed, and never an expiry', () => {
    const keys = [
      key({}),
      key({ limits: { requests_per_minute: 5, tokens_per_minute: null, concurrent: null }, expires_at: 1_800_000_000 }),
      key({ budget: { period: 'day', limit_micros: 100_001, soft_limit_micros: 300_000 }, models: ['general-8b'] }),
      key({ budget: { period: 'total', limit_micros: 0, soft_limit_micros: null }, scopes: ['admin'] }),
      key({ knowledge_base_ids: ['kb_1', 'kb_2'] }),
      ...AWKWARD_TEXTS.map((name) => key({ name })),
    ];
    for (const each of keys) {
      const fields = toFields(each);
      const { expires_at: _expiry, ...properties } = each;
      assert.deepEqual(toProperties(fields, fields), properties);
    }
  });

  it('sends amounts in micros, rounded, and a removed expiry as null', () => {
    const changed = { ...NEW_KEY, budget: 0.1 + 0.2, softLimit: 1.000_000_4, requests: 1, expires: '' };
    const { budget, limits, expires_at } = toProperties(changed, { ...NEW_KEY, expires: '2026-03-10' });
    assert.deepEqual(budget, { period: 'month', limit_micros: 300_000, soft_limit_micros: 1_000_000 });
    assert.deepEqual(limits, { requests_per_minute: 1, tokens_per_minute: null, concurrent: null });
    assert.equal(expires_at, null);
  });

  it('sends the end of the chosen day of the browser, and shows that day again', () => {
    forEachLocalDay(({ zone, day, end }) => {
      const expiresAt = toProperties({ ...NEW_KEY, expires: day }, NEW_KEY).expires_at;
      assert.equal(expiresAt, end - 1, `${day} in ${zone}`);
      assert.equal(toFields(key({ expires_at: expiresAt })).expires, day, zone);
    });
  });

  it('a key of a person begins with what the policy allows, and sends it', () => {
    const limits = { requests_per_minute: 60, tokens_per_minute: null, concurrent: null };
    const budget = { period: 'day' as const, limit_micros: 1_500_000, soft_limit_micros: null };
    const policy = { models: ['general-8b'], knowledge_base_ids: null, limits, budget };
    const fields = toPolicyFields(policy);
    assert.deepEqual(toProperties(fields, fields), { name: '', scopes: NEW_KEY.scopes, ...policy });
    assert.deepEqual(toPolicyFields(undefined), NEW_KEY);
  });

  it('a month begins at midnight UTC of its first day', () => {
    const times = ['2024-02-29T23:59:59.999Z', '2026-01-01T00:00:00Z', '2025-12-31T23:30:00-03:00'];
    assert.deepEqual(
      times.map((time) => new Date(startOfMonth(Date.parse(time)) * 1000).toISOString().slice(0, 10)),
      ['2024-02-01', '2026-01-01', '2026-01-01'],
    );
  });
});
