import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { embeddedBy, recordingEmbedder } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { runQueuedJobs } from '../../../test/ingestion.ts';
import { makeStore, uploadFile } from '../../../test/vector-stores.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';
import { dataSources } from '../../knowledge-bases/tables.ts';
import { newId } from '../../lib/ids.ts';
import { FileContent, StoreFileList, VectorStoreFile, VectorStoreSearch } from './schema.ts';

const engine = recordingEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
const path = (store: string, rest = '') => `/v1/vector_stores/${store}/files${rest}`;
const toBase = (id: string) => id.replace('vs_', 'kb_');

/** Files with these contents in a new store, ingested. */
async function makeFiles(contents: Record<string, string>, bodyOf: (name: string) => object = () => ({})) {
  const { id } = await makeStore(api);
  const files: Record<string, string> = {};
  for (const [name, content] of Object.entries(contents)) {
    files[name] = await uploadFile(api, name, content);
    await add(id, { file_id: files[name], ...bodyOf(name) });
  }
  await runQueuedJobs(api);
  return { id, files };
}

async function add(store: string, body: object) {
  const { status, json, text } = await api.send('POST', path(store), { body });
  assert.equal(status, 200, text);
  assertSchema(VectorStoreFile, json);
  return json;
}

const show = async (store: string, file: string) => (await api.send('GET', path(store, `/${file}`))).json;
const search = async (store: string, body: object) => {
  const { status, json, text } = await api.send('POST', `/v1/vector_stores/${store}/search`, { body });
  assert.equal(status, 200, text);
  assertSchema(VectorStoreSearch, json);
  return json;
};

describe('files of a vector store', () => {
  it('a file is in progress until its job ends, then completed', async () => {
    const { id } = await makeStore(api);
    const file = await uploadFile(api, 'a.txt', 'Alpha beta.');
    const attributes = { region: "eu's", year: 2026, ok: true };
    const added = await add(id, { file_id: file, attributes });
    assert.deepEqual([added.id, added.status, added.vector_store_id], [file, 'in_progress', id]);
    assert.deepEqual(added.attributes, attributes);
    await runQueuedJobs(api);
    const done = await show(id, file);
    assert.deepEqual([done.status, done.last_error, done.usage_bytes], ['completed', null, 11]);
    assert.deepEqual(done.chunking_strategy, {
      type: 'static',
      static: { max_chunk_size_tokens: 512, chunk_overlap_tokens: 64 },
    });
    assert.equal((await add(id, { file_id: file, attributes })).status, 'completed', 'added again');
  });

  it('a file that cannot be read has failed with its error', async () => {
    const { id, files } = await makeFiles({ 'a.txt': '!broken' });
    const { status, last_error } = await show(id, files['a.txt'] ?? '');
    assert.deepEqual([status, last_error], ['failed', { code: 'invalid_file', message: 'It cannot be read.' }]);
  });

  it('a file whose job has failed does not stay in progress', async () => {
    const { id } = await makeStore(api, { file_ids: [await uploadFile(api, 'a.txt', 'Alpha.')] });
    const error = { code: 'access_denied', message: 'No credits.', param: null, retryable: false } as const;
    await api.db.sql.update(dataSources).set({ status: 'error', error });
    const { data } = (await api.send('GET', path(id))).json;
    assert.deepEqual(
      [data[0].status, data[0].last_error],
      ['failed', { code: 'server_error', message: 'No credits.' }],
    );
  });

  it('static sizes cut the file by themselves, and another size cuts it again', async () => {
    const text = Array.from({ length: 400 }, (_, i) => `Sentence ${i} tells a fact.`).join(' ');
    const strategy = (size: number, overlap: number) => ({
      type: 'static',
      static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap },
    });
    const { id, files } = await makeFiles({ 'a.txt': text, 'b.txt': text }, (name) =>
      name === 'a.txt' ? { chunking_strategy: strategy(100, 50) } : {},
    );
    const chunks = async (name: string) => {
      const { data } = (await api.send('GET', `/v1/knowledge-bases/${toBase(id)}/documents?key=${files[name]}`)).json;
      return data[0].chunk_count as number;
    };
    const [small, usual] = [await chunks('a.txt'), await chunks('b.txt')];
    assert.ok(small > 4 * usual, `${small} and ${usual}`);
    assert.deepEqual((await show(id, files['a.txt'] ?? '')).chunking_strategy, strategy(100, 50));
    await add(id, { file_id: files['a.txt'], chunking_strategy: { type: 'auto' } });
    await runQueuedJobs(api);
    assert.equal(await chunks('a.txt'), usual);
  });

  it('400 naming the field, 403 and 404', async () => {
    const { id } = await makeStore(api);
    const file_id = await uploadFile(api, 'a.txt', 'Alpha.');
    const sized = (size: number, overlap: number) => ({
      file_id,
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap } },
    });
    const at = (field: string) => `chunking_strategy.static.${field}`;
    const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, i]));
    for (const [body, param, code = 'invalid_value'] of [
      [{}, 'file_id', 'missing_required_field'],
      [sized(99, 0), at('max_chunk_size_tokens')],
      [sized(4097, 0), at('max_chunk_size_tokens')],
      [sized(100, -1), at('chunk_overlap_tokens')],
      [sized(101, 51), at('chunk_overlap_tokens')],
      [{ file_id, chunking_strategy: { type: 'static' } }, 'chunking_strategy.static', 'missing_required_field'],
      [{ file_id, attributes: pairs }, 'attributes'],
      [{ file_id, attributes: { a: [1] } }, 'attributes.a'],
      [{ file_id, attributes: { a: 'v'.repeat(513) } }, 'attributes.a'],
    ] as const) {
      assertError(await api.send('POST', path(id), { body }), 400, code, param);
    }
    await add(id, sized(100, 50));
    const unknown = { body: { file_id: newId('file') } };
    assertError(await api.send('POST', path(id), unknown), 404, 'file_not_found', 'file_id');
    const missing = await api.send('GET', path(id, `/${newId('file')}`));
    assertError(missing, 404, 'file_not_found', 'file_id');
    assertError(await api.send('GET', path(newId('vectorStore'))), 404, 'vector_store_not_found', 'vector_store_id');
    const { key } = await api.makeKey({ scopes: ['knowledge'] });
    const denied = await api.send('POST', path(id), { body: { file_id }, key });
    assertError(denied, 403, 'insufficient_scope', 'file_id');
    assertError(await api.send('GET', path(id), { key: null }), 401, 'invalid_api_key');
  });
});

describe('GET .../files', () => {
  it('pages in both directions, filters by status, and goes on after the last file of a page is removed', async () => {
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt'];
    const { id, files } = await makeFiles(
      Object.fromEntries(names.map((name) => [name, name === 'c.txt' ? '!c' : name])),
    );
    const nameById = new Map(names.map((name) => [files[name], name.charAt(0)]));
    const list = async (query: string) => {
      const { json } = await api.send('GET', path(id, `?${query}`));
      assertSchema(StoreFileList, json);
      return [json.data.map((file: { id: string }) => nameById.get(file.id)).join(''), json.has_more];
    };
    assert.deepEqual(await list(''), ['edcba', false]);
    assert.deepEqual(await list(`limit=2&after=${files['d.txt']}`), ['cb', true]);
    assert.deepEqual(await list(`limit=2&before=${files['b.txt']}`), ['dc', true]);
    assert.deepEqual(await list(`order=asc&limit=2&after=${files['a.txt']}`), ['bc', true]);
    assert.deepEqual(await list('filter=failed'), ['c', false]);
    assert.deepEqual(await list('filter=completed&limit=4'), ['edba', false]);
    assert.deepEqual(await list('filter=in_progress'), ['', false]);
    assert.deepEqual((await api.send('GET', path(id, '?filter=done'))).json.error.param, 'filter');
    assertError(await api.send('GET', path(id, '?after=x')), 400, 'invalid_value', 'after');
    for (const name of ['e.txt', 'd.txt']) await api.send('DELETE', path(id, `/${files[name]}`));
    assert.deepEqual(await list(`limit=2&after=${files['d.txt']}`), ['cb', true]);
  });

  it('shows documents of other data sources, which are changed and deleted there', async () => {
    const { id } = await makeStore(api);
    const file = await uploadFile(api, 'a.txt', 'Alpha.');
    const source = { type: 'file_upload', config: { file_ids: [file], metadata: { team: 'a', tags: ['x'] } } };
    await api.send('POST', `/v1/knowledge-bases/${toBase(id)}/data-sources`, { body: source });
    await api.send('POST', `/v1/knowledge-bases/${toBase(id)}/documents`, { body: { key: 'note', text: 'Beta.' } });
    await runQueuedJobs(api);
    const { data } = (await api.send('GET', path(id, '?order=asc'))).json;
    const ids = data.map((each: { id: string }) => each.id);
    assert.ok(ids.includes(file) && ids.some((each: string) => each.startsWith('doc_')), `${ids}`);
    const shown = await show(id, file);
    assert.deepEqual([shown.attributes.team, 'tags' in shown.attributes], ['a', false]);
    const body = { attributes: {} };
    assertError(await api.send('POST', path(id, `/${file}`), { body }), 400, 'invalid_value', 'file_id');
    assertError(await api.send('DELETE', path(id, `/${file}`)), 400, 'invalid_value', 'file_id');
    const note = ids.find((each: string) => each.startsWith('doc_'));
    assert.equal((await api.send('DELETE', path(id, `/${note}`))).json.id, note);
  });
});

describe('a file of a vector store', () => {
  it('new attributes replace the old ones, and searches filter by them after the job', async () => {
    const { id, files } = await makeFiles({ 'a.txt': 'Alpha.' }, () => ({ attributes: { region: 'eu', year: 1 } }));
    const file = files['a.txt'] ?? '';
    const { json } = await api.send('POST', path(id, `/${file}`), { body: { attributes: { region: 'us' } } });
    assert.deepEqual([json.attributes, json.status], [{ region: 'us' }, 'in_progress']);
    await runQueuedJobs(api);
    assert.equal((await show(id, file)).status, 'completed');
    const eq = (value: string) => ({ query: 'Alpha', filters: { type: 'eq', key: 'region', value } });
    assert.equal((await search(id, eq('us'))).data.length, 1);
    assert.equal((await search(id, eq('eu'))).data.length, 0);
    const cleared = await api.send('POST', path(id, `/${file}`), { body: { attributes: null } });
    assert.deepEqual(cleared.json.attributes, {});
    const missing = await api.send('POST', path(id, `/${file}`), { body: {} });
    assertError(missing, 400, 'missing_required_field', 'attributes');
  });

  it('is removed from searches at once, and its upload stays', async () => {
    const { id, files } = await makeFiles({ 'a.txt': 'Alpha.', 'b.txt': 'Alpha too.' });
    const file = files['a.txt'] ?? '';
    const { json } = await api.send('DELETE', path(id, `/${file}`));
    assert.deepEqual(json, { id: file, object: 'vector_store.file.deleted', deleted: true });
    const { data } = await search(id, { query: 'Alpha' });
    assert.deepEqual(
      data.map(({ file_id }: { file_id: string }) => file_id),
      [files['b.txt']],
    );
    assert.equal((await api.send('GET', `/v1/files/${file}`)).status, 200);
    assertError(await api.send('DELETE', path(id, `/${file}`)), 404, 'file_not_found', 'file_id');
  });

  it('its content is the text of its documents, without the overlap of chunks', async () => {
    const long = Array.from({ length: 300 }, (_, i) => `Sentence ${i} tells a fact.`).join(' ');
    const small = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 50 } };
    const { id, files } = await makeFiles({ 'a.txt': long, 'b.txt': 'One|Two' }, () => ({ chunking_strategy: small }));
    const content = async (name: string, query = '') => {
      const answer = await api.send('GET', path(id, `/${files[name]}/content${query}`));
      if (answer.status === 200) assertSchema(FileContent, answer.json);
      return answer;
    };
    const { data, has_more, next_page } = (await content('a.txt')).json;
    assert.deepEqual([data.length, has_more, next_page], [1, false, null]);
    assert.equal(data[0].text.replaceAll(/\s+/g, ' '), long);
    const parts = (await content('b.txt')).json.data.map(({ text }: { text: string }) => text);
    assert.deepEqual(parts.toSorted(), ['One', 'Two']);
    assertError(await content('a.txt', '?page=x'), 400, 'invalid_value', 'page');
  });
});

describe('POST /v1/vector_stores/{vector_store_id}/search', () => {
  it('filters by comparisons and their combinations', async () => {
    const { id } = await makeFiles(
      { 'a.txt': 'Alpha one.', 'b.txt': 'Alpha two.', 'c.txt': 'Alpha three.' },
      (name) => ({
        attributes: { letter: name.charAt(0), rank: name.charCodeAt(0) - 96, ...(name === 'a.txt' && { first: true }) },
      }),
    );
    const letters = async (filters: object | null) => {
      const { data } = await search(id, { query: 'Alpha', filters });
      return data
        .map(({ attributes }: { attributes: { letter: string } }) => attributes.letter)
        .toSorted()
        .join('');
    };
    const rank = (type: string, value: unknown) => ({ type, key: 'rank', value });
    assert.equal(await letters(null), 'abc');
    assert.equal(await letters(rank('gte', 2)), 'bc');
    assert.equal(await letters(rank('in', [1, 3])), 'ac');
    assert.equal(await letters(rank('nin', [1, 3])), 'b');
    assert.equal(await letters({ type: 'eq', key: 'first', value: true }), 'a');
    assert.equal(await letters({ type: 'or', filters: [rank('lt', 2), rank('gt', 2)] }), 'ac');
    assert.equal(await letters({ type: 'and', filters: [rank('ne', 2), rank('lt', 3)] }), 'a');
  });

  it('several queries give the best of each, every chunk once', async () => {
    const { id } = await makeFiles({ 'a.txt': 'Cats sleep at night.', 'b.txt': 'Engines burn petrol.' });
    const { search_query, data } = await search(id, { query: ['Cats sleep', 'Engines petrol'], max_num_results: 2 });
    assert.deepEqual(search_query, ['Cats sleep', 'Engines petrol']);
    assert.deepEqual(data.map(({ filename }: { filename: string }) => filename).toSorted(), ['a.txt', 'b.txt']);
    assert.ok(data[0].score >= data[1].score);
    assert.equal(data[0].content[0].type, 'text');
    const best = await search(id, { query: 'Cats sleep at night', max_num_results: 1 });
    assert.deepEqual([best.data.length, best.data[0].filename], [1, 'a.txt']);
  });

  it('score_threshold drops lower scores', async () => {
    const { id } = await makeFiles({ 'a.txt': 'Cats sleep at night.' });
    const threshold = (score_threshold: number) => ({ ranker: 'auto', score_threshold });
    assert.equal((await search(id, { query: 'Cats', ranking_options: threshold(0) })).data.length, 1);
    assert.equal((await search(id, { query: 'Cats', ranking_options: threshold(1) })).data.length, 0);
  });

  it('a search is metered as one of the knowledge base', async () => {
    const { id } = await makeFiles({ 'a.txt': 'Alpha.' });
    const before = engine.embedded.length;
    await search(id, { query: ['Alpha', 'Beta'] });
    assert.deepEqual(engine.embedded.slice(before).toSorted(), ['Alpha', 'Beta']);
  });

  it('400 naming the field', async () => {
    const { id } = await makeStore(api);
    for (const [body, param, code = 'invalid_value'] of [
      [{}, 'query', 'missing_required_field'],
      [{ query: '' }, 'query'],
      [{ query: ' ' }, 'query'],
      [{ query: [] }, 'query'],
      [{ query: ['a', 1] }, 'query.1'],
      [{ query: Array(17).fill('a') }, 'query'],
      [{ query: 'a', max_num_results: 0 }, 'max_num_results'],
      [{ query: 'a', max_num_results: 51 }, 'max_num_results'],
      [{ query: 'a', ranking_options: { ranker: 'best' } }, 'ranking_options.ranker'],
      [{ query: 'a', ranking_options: { score_threshold: 1.1 } }, 'ranking_options.score_threshold'],
      [{ query: 'a', rewrite_query: 'yes' }, 'rewrite_query'],
      [{ query: 'a', filters: { type: 'near', key: 'a', value: 1 } }, 'filters.type'],
      [
        { query: 'a', filters: { type: 'and', filters: [{ type: 'eq', key: 'a' }] } },
        'filters.filters.0.value',
        'missing_required_field',
      ],
    ] as const) {
      const answer = await api.send('POST', `/v1/vector_stores/${id}/search`, { body });
      assertError(answer, 400, code, param);
    }
  });
});
