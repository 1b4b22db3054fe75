import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { listSchema } from '../db/page.ts';
import { dropIndexTables } from './drop-index-tables.ts';
import { MAX_WRITE_DURATION_MS } from './max-write-duration.ts';
import { KnowledgeBase, ListedKnowledgeBase } from './schema.ts';
import { droppedIndexes } from './tables.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));
const PATH = '/v1/knowledge-bases';
const create = (body: object | string, key = api.key) => api.send('POST', PATH, { body, key });
const created = async (body: object = {}) => (await create({ name: 'Base', ...body })).json;
const patch = (id: string, body: object, key = api.key) => api.send('PATCH', `${PATH}/${id}`, { body, key });
const UNKNOWN = 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3';

/** A key of another organization. */
const foreignKey = async () => (await api.makeKey({ organization: 'foreign' })).key;

describe('POST /v1/knowledge-bases', () => {
  it('creates an active, empty knowledge base with every default', async () => {
    const { status, json } = await create({ name: 'Handbook' });
    assert.equal(status, 200);
    assertSchema(KnowledgeBase, json);
    assert.match(json.id, /^kb_[0-9a-z]{26}$/);
    assert.equal(json.created_at, json.updated_at);
    const { id, created_at, updated_at, ...rest } = json;
    assert.deepEqual(rest, {
      object: 'knowledge_base',
      name: 'Handbook',
      description: '',
      embedding_model: 'embed-large-en-v1.5',
      chunking_strategy: { type: 'recursive', chunk_size: 512, chunk_overlap: 64 },
      document_count: 0,
      chunk_count: 0,
      status: 'active',
      metadata: {},
    });
  });

  it('takes every field, and fills what a strategy leaves out', async () => {
    const wanted = { description: 'd', metadata: { team: 'a', nested: { x: [1, null] } } };
    const chunking_strategy = { type: 'semantic', chunk_size: 16, chunk_overlap: 15 };
    const whole = await created({ ...wanted, chunking_strategy, embedding_model: 'embed-large-en-v1.5' });
    assert.deepEqual(whole.chunking_strategy, chunking_strategy);
    assert.deepEqual([whole.description, whole.metadata], [wanted.description, wanted.metadata]);
    const part = await created({ chunking_strategy: { chunk_size: 2048 } });
    assert.deepEqual(part.chunking_strategy, { type: 'recursive', chunk_size: 2048, chunk_overlap: 64 });
    const overlapOf = async (chunk_size: number) =>
      (await created({ chunking_strategy: { type: 'fixed_size', chunk_size } })).chunking_strategy.chunk_overlap;
    assert.deepEqual(await Promise.all([16, 64, 65, 128].map(overlapOf)), [2, 8, 64, 64]);
  });

  const refused: [what: string, body: object | string, code: string, param: string | null][] = [
    ['no name', {}, 'missing_required_field', 'name'],
    ['a blank name', { name: ' ' }, 'invalid_value', 'name'],
    ['an empty name', { name: '' }, 'invalid_value', 'name'],
    ['a name of 257 characters', { name: 'x'.repeat(257) }, 'invalid_value', 'name'],
    ['a description of 4,097 characters', { name: 'a', description: 'x'.repeat(4097) }, 'invalid_value', 'description'],
    ['a NUL in the name', { name: 'a\u0000' }, 'invalid_value', 'name'],
    ['a NUL in the description', { name: 'a', description: '\u0000' }, 'invalid_value', 'description'],
    ['a NUL in the metadata', { name: 'a', metadata: { a: '\u0000' } }, 'invalid_value', 'metadata'],
    ['metadata that is no object', { name: 'a', metadata: [] }, 'invalid_value', 'metadata'],
    ['metadata of more than 64 KiB', { name: 'a', metadata: { a: 'x'.repeat(65_536) } }, 'invalid_value', 'metadata'],
    [
      'an unknown strategy',
      { name: 'a', chunking_strategy: { type: 'magic' } },
      'invalid_value',
      'chunking_strategy.type',
    ],
    [
      'chunks of 15 tokens',
      { name: 'a', chunking_strategy: { chunk_size: 15 } },
      'invalid_value',
      'chunking_strategy.chunk_size',
    ],
    [
      'chunks of 2,049 tokens',
      { name: 'a', chunking_strategy: { chunk_size: 2049 } },
      'invalid_value',
      'chunking_strategy.chunk_size',
    ],
    [
      'an overlap below 0',
      { name: 'a', chunking_strategy: { chunk_overlap: -1 } },
      'invalid_value',
      'chunking_strategy.chunk_overlap',
    ],
    [
      'an overlap of the whole chunk',
      { name: 'a', chunking_strategy: { chunk_size: 64, chunk_overlap: 64 } },
      'invalid_value',
      'chunking_strategy.chunk_overlap',
    ],
    ['no JSON', '{', 'invalid_json', null],
  ];
  for (const [what, body, code, param] of refused) {
    it(`400 ${code} for ${what}`, async () => assertError(await create(body), 400, code, param));
  }

  it('takes a description of exactly 4,096 characters', async () => {
    assert.equal((await create({ name: 'a', description: 'x'.repeat(4096) })).status, 200);
  });

  it('takes metadata of exactly 64 KiB', async () => {
    const { status } = await create({ name: 'a', metadata: { a: 'x'.repeat(65_536 - 8) } });
    assert.equal(status, 200);
  });

  it('404 model_not_found for a model that is unknown, or embeds nothing', async () => {
    for (const embedding_model of ['no-such-model', 'general-8b']) {
      assertError(await create({ name: 'a', embedding_model }), 404, 'model_not_found', 'embedding_model');
    }
  });

  it('401 without a key, 403 without the scope knowledge', async () => {
    assertError(await api.send('POST', PATH, { body: { name: 'a' }, key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference', 'files', 'guardrails', 'admin'] });
    assertError(await create({ name: 'a' }, key), 403, 'insufficient_scope');
  });

  it('403 naming embedding_model for a key that is limited to other models', async () => {
    const { key } = await api.makeKey({ models: ['general-8b'] });
    assertError(await create({ name: 'a' }, key), 403, 'insufficient_scope', 'embedding_model');
  });

  it('creates one for one Idempotency-Key', async () => {
    const send = () => api.send('POST', PATH, { body: { name: 'once' }, headers: { 'idempotency-key': 'kb-once' } });
    const [first, second] = [await send(), await send()];
    assert.equal(first.json.id, second.json.id);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
  });
});

describe('GET /v1/knowledge-bases', () => {
  it('lists the own ones, oldest first, without strategy and metadata, page by page', async () => {
    const { key } = await api.makeKey({ organization: 'lister' });
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push((await create({ name, metadata: { x: 1 } }, key)).json.id);
    const get = async (query: string) => (await api.send('GET', `${PATH}${query}`, { key })).json;
    const first = await get('?limit=2');
    assertSchema(listSchema(ListedKnowledgeBase), first);
    assert.deepEqual(
      first.data.map(({ id }: { id: string }) => id),
      ids.slice(0, 2),
    );
    assert.deepEqual([first.has_more, first.first_id, first.last_id], [true, ids[0], ids[1]]);
    const second = await get(`?limit=2&after=${first.last_id}`);
    assert.deepEqual([second.data.map(({ id }: { id: string }) => id), second.has_more], [ids.slice(2), false]);
    const found = await get('?search=B&order=desc');
    assert.deepEqual(
      found.data.map(({ id }: { id: string }) => id),
      [ids[1]],
    );
  });

  it('finds a name of any characters by each part of it, and only in the own organization', async () => {
    const [{ key }, other] = [await api.makeKey({ organization: 'namer' }), await api.makeKey({ organization: 'n 2' })];
    for (const name of AWKWARD_TEXTS) {
      const made = (await create({ name, description: name, metadata: { [`key ${name}`]: name } }, key)).json;
      await create({ name }, other.key);
      for (const search of [name, name.slice(1), name.slice(0, -1)]) {
        const { json } = await api.send('GET', `${PATH}?limit=100&search=${encodeURIComponent(search)}`, { key });
        assert.deepEqual(
          json.data.filter(({ name: found }: { name: string }) => found.includes(search)),
          json.data,
        );
        assert.ok(
          json.data.some(({ id }: { id: string }) => id === made.id),
          search,
        );
      }
      assert.deepEqual((await api.send('GET', `${PATH}/${made.id}`, { key })).json, made);
      assert.deepEqual([made.name, made.description, made.metadata[`key ${name}`]], [name, name, name]);
    }
  });

  it('400 for a limit out of bounds and a cursor of another kind', async () => {
    assertError(await api.send('GET', `${PATH}?limit=0`), 400, 'invalid_value', 'limit');
    assertError(await api.send('GET', `${PATH}?limit=101`), 400, 'invalid_value', 'limit');
    assertError(await api.send('GET', `${PATH}?after=file-1`), 400, 'invalid_value', 'after');
  });

  it('401 without a key', async () => {
    assertError(await api.send('GET', PATH, { key: null }), 401, 'invalid_api_key');
  });
});

describe('one knowledge base', () => {
  it('GET answers as its creation did', async () => {
    const made = await created({ metadata: { a: 1 } });
    assert.deepEqual((await api.send('GET', `${PATH}/${made.id}`)).json, made);
  });

  it('PATCH changes what it is given, merges metadata, and removes what is null there', async () => {
    const made = await created({ description: 'old', metadata: { a: 1, b: { c: 2 } } });
    const { status, json } = await patch(made.id, { name: 'New', metadata: { a: null, b: 3, d: 4 } });
    assert.equal(status, 200);
    assertSchema(KnowledgeBase, json);
    assert.deepEqual([json.name, json.description, json.metadata], ['New', 'old', { b: 3, d: 4 }]);
    assert.ok(json.updated_at >= made.updated_at);
    assert.deepEqual((await api.send('GET', `${PATH}/${made.id}`)).json, json);
  });

  it('keeps metadata as it was created, with its nulls and what only looks like a NUL', async () => {
    const metadata = { a: null, b: '\\u0000', '\\\\u0000': 1 };
    const made = await created({ metadata });
    assert.deepEqual(made.metadata, metadata);
    assert.deepEqual((await patch(made.id, { name: 'New' })).json.metadata, metadata);
    assertError(await patch(made.id, { metadata: { c: '\\\u0000' } }), 400, 'invalid_value', 'metadata');
  });

  it('PATCH refuses what is fixed, and what creation would refuse, and changes nothing then', async () => {
    const made = await created();
    const cases: [object, string][] = [
      [{ embedding_model: 'embed-large-en-v1.5' }, 'embedding_model'],
      [{ chunking_strategy: { type: 'recursive' } }, 'chunking_strategy'],
      [{ name: '' }, 'name'],
      [{ name: 7 }, 'name'],
      [{ description: 'a\u0000' }, 'description'],
      [{ metadata: 'x' }, 'metadata'],
      [{ metadata: { a: 'x'.repeat(65_536) } }, 'metadata'],
    ];
    for (const [body, param] of cases) assertError(await patch(made.id, body), 400, 'invalid_value', param);
    assert.deepEqual((await api.send('GET', `${PATH}/${made.id}`)).json, made);
  });

  it('DELETE removes it for good', async () => {
    const made = await created();
    const { status, json } = await api.send('DELETE', `${PATH}/${made.id}`);
    assert.equal(status, 200);
    assert.deepEqual(json, { id: made.id, object: 'knowledge_base', deleted: true });
    assertError(await api.send('GET', `${PATH}/${made.id}`), 404, 'knowledge_base_not_found', 'kb_id');
    await dropIndexTables(api.deps);
    const left = await api.db.sql.select().from(droppedIndexes);
    assert.deepEqual(
      left.map(({ knowledgeBaseId }) => knowledgeBaseId),
      [made.id],
      'what was being written may make its index anew',
    );
    await dropIndexTables({ ...api.deps, now: () => Date.now() + MAX_WRITE_DURATION_MS });
    assert.deepEqual(await api.db.sql.select().from(droppedIndexes), []);
  });

  for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    it(`${method}: 404 for an unknown id, a text that is none, and another organization's`, async () => {
      const made = await created();
      const send = (id: string, key = api.key) => api.send(method, `${PATH}/${id}`, { body, key });
      for (const id of [UNKNOWN, 'nonsense', 'kb_%00', 'file-01kaj3v0b8s4x2m6n9p1q5r7t3']) {
        assertError(await send(id), 404, 'knowledge_base_not_found', 'kb_id');
      }
      assertError(await send(made.id, await foreignKey()), 404, 'knowledge_base_not_found', 'kb_id');
      assert.equal((await api.send('GET', `${PATH}/${made.id}`)).json.name, 'Base');
    });

    it(`${method}: 401 without a key, 403 without the scope`, async () => {
      const { key } = await api.makeKey({ scopes: ['inference'] });
      const path = `${PATH}/${UNKNOWN}`;
      assertError(await api.send(method, path, { body, key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, path, { body, key }), 403, 'insufficient_scope');
    });
  }
});
