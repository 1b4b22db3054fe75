import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { type FieldSchema, toConfig, toFormValues } from '../src/pages/data-source-schema.ts';
import { NEW_KEY, toFields, toProperties } from '../src/pages/key-properties.ts';
import type { ApiKey } from '../src/pages/keys.tsx';
import { toFilters } from '../src/pages/knowledge-base-filters.ts';
import { buildRequest, DEFAULT_SETTINGS, type PlaygroundSettings } from '../src/pages/playground-request.ts';

describe('the form of a key', () => {
  const key = (more: object): ApiKey =>
    ({ name: 'k', scopes: ['files'], models: null, limits: null, budget: null, expires_at: null, ...more }) as ApiKey;

  it('sends what it shows of a key that nobody has changed, and never an expiry', () => {
    const keys = [
      key({}),
      key({ limits: { requests_per_minute: 5, tokens_per_minute: null, concurrent: null }, expires_at: 1_800_000_000 }),
      key({ budget: { period: 'day', limit_micros: 100_001, soft_limit_micros: 300_000 }, models: ['general-8b'] }),
      key({ budget: { period: 'total', limit_micros: 0, soft_limit_micros: null }, scopes: ['admin'] }),
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
});

describe('filters of a search', () => {
  const line = (field: string, value: string, operator: '$eq' | '$in' | '$gte' = '$eq') => ({
    id: 1,
    field,
    value,
    operator,
  });

  it('keep every metadata key and text', () => {
    for (const text of AWKWARD_TEXTS) {
      const filters = toFilters([[line(text, text), line('size', '7', '$gte')]]);
      const expected = new Map([
        [text, { $eq: text.trim() }],
        ['size', { $gte: 7 }],
      ]);
      assert.deepEqual(new Map(Object.entries(filters?.['metadata'] ?? {})), expected, text);
    }
  });

  it('read numbers and truth values, and quoted ones as texts', () => {
    const value = (text: string) => toFilters([[line('a', text)]])?.['metadata'];
    for (const [text, read] of [
      ['7', 7],
      ['-0.5', -0.5],
      ['1e3', '1e3'],
      ['007', 7],
      ['"7"', '7'],
      ['true', true],
      ['"true"', 'true'],
      ['TRUE', 'TRUE'],
    ] as const)
      assert.deepEqual(value(text), { a: { $eq: read } }, text);
  });

  it('join the lines of a group, and ask for one of several groups; lines without a value count for nothing', () => {
    assert.equal(toFilters([[line('', 'x'), line('a', ' ')], []]), undefined);
    const groups = [[line('document_name', 'a.md'), line('n', '1,2', '$in')], [line('b', 'c')]];
    assert.deepEqual(toFilters(groups), {
      $or: [{ document_name: 'a.md', metadata: { n: { $in: [1, 2] } } }, { metadata: { b: { $eq: 'c' } } }],
    });
  });
});

describe('the form of a data source', () => {
  const schema: FieldSchema = {
    properties: {
      bucket: { type: 'string' },
      prefix: { type: 'string' },
      metadata: { type: 'object' },
      urls: { type: 'array', items: { type: 'string' } },
      credentials: { properties: { secret: { type: 'string', writeOnly: true }, id: { type: 'string' } } },
    },
  };

  it('leaves empty fields out of a new one; of a stored one it removes them, and keeps secrets', () => {
    const values = { bucket: 'b', prefix: '', metadata: '', urls: [], credentials: { secret: '', id: 'x' } };
    assert.deepEqual(toConfig(schema, values, false), { bucket: 'b', credentials: { id: 'x' } });
    const stored = toConfig(schema, values, true);
    assert.deepEqual(stored, {
      bucket: 'b',
      prefix: null,
      metadata: null,
      urls: null,
      credentials: { secret: '***', id: 'x' },
    });
  });

  it('sends what it shows of a stored config', () => {
    for (const text of AWKWARD_TEXTS) {
      const config = {
        bucket: text,
        prefix: text,
        metadata: { a: text },
        urls: [text],
        credentials: { secret: '***', id: text },
      };
      assert.deepEqual(toConfig(schema, toFormValues(schema, config), true), config);
    }
  });
});

describe('the request of the playground', () => {
  const settings: PlaygroundSettings = { ...DEFAULT_SETTINGS, mode: 'chat', model: 'm', knowledgeBases: [] };
  const body = (changes: Partial<PlaygroundSettings>) => buildRequest({ ...settings, ...changes }, []).body;

  it('sends the parameters that are set, zero among them, and no others', () => {
    const plain = { chat: Object.keys(body({})), responses: Object.keys(body({ mode: 'responses' })) };
    assert.deepEqual(plain.chat.toSorted(), ['messages', 'model', 'stream', 'stream_options']);
    assert.deepEqual(plain.responses.toSorted(), ['input', 'model', 'store', 'stream']);
    const zero = { temperature: 0, topP: 0, maxTokens: 1, seed: 0 };
    const { temperature, top_p, max_tokens, seed } = body(zero) as Record<string, unknown>;
    assert.deepEqual([temperature, top_p, max_tokens, seed], [0, 0, 1, 0]);
    const responses = body({ ...zero, mode: 'responses' }) as Record<string, unknown>;
    assert.deepEqual([responses['temperature'], responses['top_p'], responses['max_output_tokens']], [0, 0, 1]);
  });

  it('searches the chosen knowledge bases beside the tools of the user, by either route', () => {
    const tools = JSON.stringify([{ type: 'function', function: { name: 'f' } }]);
    const chosen = { knowledgeBases: ['kb_1', 'kb_2'], tools };
    assert.deepEqual(body(chosen)['knowledge_bases'], ['kb_1', 'kb_2']);
    const { tools: sent } = body({ ...chosen, mode: 'responses' }) as {
      tools: { type: string; file_search?: object }[];
    };
    assert.deepEqual(
      sent.map(({ type }) => type),
      ['file_search', 'function'],
    );
    assert.deepEqual(sent[0]?.file_search, { knowledge_base_ids: ['kb_1', 'kb_2'] });
  });
});
