import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moveUp, toBindingBody, toBindingFields } from './server-binding.ts';

const routes = [
  { upstream_id: 'ups_1', model: 'a', weight: 3 },
  { upstream_id: 'ups_2', model: '__proto__', weight: 0 },
];
const stored = {
  id: 'own',
  upstream_binding: {
    routes,
    context_length: 512,
    pricing: { prompt: 0.002, completion: 0, unit: 'per_1k_tokens' as const },
    vision: true,
  },
};

describe('the form of a binding to servers', () => {
  it('shows a stored binding, and sends the same one with prices per million tokens', () => {
    const fields = toBindingFields(stored, { upstreamId: '', model: '' });
    assert.deepEqual([fields.id, fields.promptPrice, fields.completionPrice], ['own', 2, 0]);
    assert.deepEqual(toBindingBody(fields), {
      ...stored.upstream_binding,
      pricing: { prompt: 2, completion: 0, unit: 'per_1m_tokens' },
    });
  });

  it('begins with the tested model of a server, and sends null for empty fields', () => {
    const fields = toBindingFields(null, { upstreamId: 'ups_1', model: 'llama' });
    assert.equal(fields.id, 'llama');
    assert.deepEqual(toBindingBody(fields), {
      routes: [{ upstream_id: 'ups_1', model: 'llama', weight: 1 }],
      context_length: null,
      pricing: null,
      vision: false,
    });
    assert.deepEqual(toBindingBody({ ...fields, completionPrice: 0.5 }).pricing, {
      prompt: 0,
      completion: 0.5,
      unit: 'per_1m_tokens',
    });
  });

  it('a server moves up one place, and the first stays', () => {
    assert.deepEqual(
      [moveUp(['a', 'b', 'c'], 2), moveUp(['a', 'b'], 0)],
      [
        ['a', 'c', 'b'],
        ['a', 'b'],
      ],
    );
  });
});
