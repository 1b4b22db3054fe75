import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { MemorySource, makeSource } from '../../test/ingestion.ts';
import { calls, chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { readDocument } from '../extraction/read-document.ts';
import { ResponseResource } from './schema.ts';

const embedder = bundledEmbedder();
after(() => embedder.close());
const api = useApi(embeddedBy(embedder));

const FEES = 'Berth,Quay,Day fee\nA1,North quay,14.00\nA2,North quay,19.50\nB1,Outer mole,41.00\n"C ""x""",,9.00';
const PAGE =
  '# Harbour\n\n| Key | Count |\n|---|---|\n| a | 1 |\n| b | 2 |\n\n## Other\n\n| Key | Count |\n|---|---|\n| c | 3 |\n| d | 4 |';

describe('query_table in POST /v1/responses', () => {
  let base = '';
  let foreign = '';
  const fill = async (key: string | undefined, texts: Record<string, string>): Promise<string> => {
    const body = { name: 'Harbour' };
    const { id } = (await api.send('POST', '/v1/knowledge-bases', { body, ...(key && { key }) })).json;
    const source = new MemorySource();
    for (const [name, text] of Object.entries(texts)) source.items.set(name, text);
    const { deps, queueJob, run } = await makeSource(api, id, source);
    deps.extractor = {
      async *extract({ content }) {
        const bytes = Buffer.concat(await Array.fromAsync(content, (piece) => Buffer.from(piece)));
        const input = { content: bytes, bytes: bytes.length, charset: null, chunkCharacters: 1_000 };
        yield* readDocument(bytes.includes('|') ? 'markdown' : 'csv', input);
      },
    };
    await run(await queueJob());
    return id;
  };
  before(async () => {
    base = await fill(undefined, { fees: FEES, page: PAGE });
    const { key } = await api.makeKey({ organization: 'Other' });
    foreign = await fill(key, { secret: FEES });
    assert.notEqual(foreign, base);
  });
  const ask = (fields: object = {}) => {
    const search = { type: 'file_search', file_search: { knowledge_base_ids: [base] } };
    const tools = [search, { type: 'query_table' }];
    return api.send('POST', '/v1/responses', {
      body: { model: 'general-8b', input: 'What is the highest fee?', tools, ...fields },
    });
  };
  /** The item of a query, and the result that the model has read. */
  const query = async (args: object) => {
    playTurns(api.engine, calls(['query_table', args]), says('Done.'));
    const { json } = await ask();
    assertSchema(ResponseResource, json);
    const read = chatPromptOf(api.engine.calls.at(-1)!).messages.findLast(({ role }) => role === 'tool')?.content;
    return { item: json.output[0], read: JSON.parse(read ?? '{}'), json };
  };

  it('computes over the rows of a table, and cites the cell', async () => {
    const args = { document: 'fees.txt', operation: 'max', column: 'day fee' };
    playTurns(api.engine, calls(['query_table', args]), says('The highest day fee is 41.00, at B1 on the Outer mole.'));
    const { json } = await ask();
    assertSchema(ResponseResource, json);
    const [item, message] = json.output;
    assert.deepEqual(
      [item.type, item.tool, item.status, item.queries],
      ['file_search_call', 'query_table', 'completed', [JSON.stringify(args)]],
    );
    assert.match(item.results[0].text, /^Highest Day fee: \*\*41\.00\*\*/);
    assert.deepEqual([item.results[0].cells, item.results[0].attributes.computed], ['C4', 'true']);
    const [annotation] = message.content[0].annotations;
    assert.deepEqual([annotation.cells, annotation.chunk_id], ['C4', item.results[0].chunk_id]);
    const [first, second] = api.engine.calls.slice(-2).map((call) => chatPromptOf(call));
    assert.deepEqual(
      first?.tools.map((tool) => tool.function.name),
      ['file_search', 'query_table'],
    );
    const call = second?.messages.find((one) => one.tool_calls !== undefined)?.tool_calls?.[0];
    assert.deepEqual(call?.function, { name: 'query_table', arguments: JSON.stringify(args) });
    assert.equal(json.tools[1].type, 'query_table');
    playTurns(api.engine, says('Again.'));
    await ask({ previous_response_id: json.id, input: 'And again?' });
    const later = chatPromptOf(api.engine.calls.at(-1)!).messages.flatMap((one) => one.tool_calls ?? []);
    assert.deepEqual(
      later.map((one) => one.function.name),
      ['query_table'],
    );
  });

  it('filters by cells with quotes, groups, and chooses a table', async () => {
    const quoted = { column: 'Berth', operator: 'equals', value: 'C "x"' };
    const found = await query({ document: 'fees.txt', operation: 'sum', column: 'Day fee', filters: [quoted] });
    assert.match(found.read.results[0].text, /^Total of Day fee: \*\*9\.00\*\*/);
    const groups = await query({ document: 'fees.txt', operation: 'count', group_by: 'Quay' });
    assert.match(groups.read.results[0].text, /\| North quay \| 2 \|/);
    const second = await query({ document: 'page.txt', table: 2, operation: 'sum', column: 'Count' });
    assert.match(second.read.results[0].text, /^Total of Count: \*\*7\*\*/);
  });

  const mistakes: [string, object, RegExp][] = [
    ['a document that does not exist', { document: 'x', operation: 'count' }, /no document 'x'/],
    ['a document of another organization', { document: 'secret.txt', operation: 'count' }, /no document 'secret.txt'/],
    [
      'a column that does not exist',
      { document: 'fees.txt', operation: 'sum', column: 'Prize' },
      /no column 'Prize'. Columns: Berth, Quay, Day fee/,
    ],
    ['an unknown operation', { document: 'fees.txt', operation: 'median' }, /operation/],
    ['a missing document', { operation: 'count' }, /document/],
    [
      'an ambiguous table',
      { document: 'page.txt', operation: 'sum', column: 'Count' },
      /'table'. Tables of 'page.txt': 1 \(Harbour\): Key, Count; 2 \(Other\)/,
    ],
    ['a table out of range', { document: 'page.txt', table: 3, operation: 'count' }, /Tables of 'page.txt'/],
    [
      'filters that no row meets',
      { document: 'fees.txt', operation: 'count', filters: [{ column: 'Berth', operator: 'equals', value: 'Z9' }] },
      /0 of 4 rows/,
    ],
  ];
  for (const [name, args, message] of mistakes) {
    it(`tells the model of ${name}`, async () => {
      const { item, read, json } = await query(args);
      assert.match(item.message, message);
      assert.deepEqual([item.results, read], [[], { note: item.message, results: [] }]);
      assert.equal(json.status, 'completed');
    });
  }

  it('400 without file_search, twice, and beside a function of its name', async () => {
    const search = { type: 'file_search', file_search: { knowledge_base_ids: [base] } };
    const alone = await ask({ tools: [{ type: 'query_table' }] });
    assertError(alone, 400, 'invalid_value', 'tools.0');
    assertError(
      await ask({ tools: [{ type: 'query_table' }, search, { type: 'query_table' }] }),
      400,
      'invalid_value',
      'tools.2',
    );
    const named = { type: 'function', name: 'query_table' };
    assertError(await ask({ tools: [search, { type: 'query_table' }, named] }), 400, 'invalid_value', 'tools.2.name');
  });

  it('is a function of the client where the request does not offer it', async () => {
    const search = { type: 'file_search', file_search: { knowledge_base_ids: [base] } };
    playTurns(api.engine, calls(['query_table', { a: 1 }]));
    const { json } = await ask({ tools: [search, { type: 'function', name: 'query_table' }] });
    assert.deepEqual([json.output[0].type, json.output[0].name], ['function_call', 'query_table']);
  });
});
