import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { CONNECTOR_SERVICES, type ConnectorService } from '../../../test/fixtures/connector-services.ts';
import { encodeForm, sendForm } from '../../../test/forms.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { DATA_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { newId } from '../../lib/ids.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { DataSourceProbe } from './schema.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], config: { allowPrivateHosts: ['127.0.0.1'] } });
const BASES = '/v1/knowledge-bases';

const newBase = async (key = api.key): Promise<string> =>
  (await api.send('POST', BASES, { body: { name: 'Base' }, key })).json.id;
const probe = (base: string, body: object, key: string | null = api.key) =>
  api.send('POST', `${BASES}/${base}/data-sources/test`, { body, key });
/** Rows of every table that a data source writes. */
const countRows = async () => {
  const tables = ['data_sources', 'ingestion_jobs', 'documents', 'crawl_pages', 'drive_listings', 'drive_files'];
  const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`);
  return (await api.db.execute(`select ${counts.join(', ')}`)).rows[0];
};

/** A server on an address of loopback, closed after the test. */
async function listen(t: TestContext, address: string, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, address);
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return `http://${address}:${(server.address() as AddressInfo).port}`;
}

describe('POST /v1/knowledge-bases/{kb_id}/data-sources/test', () => {
  let base: string;
  before(async () => {
    base = await newBase();
  });

  it('covers every type', () => {
    assert.deepEqual([...DATA_SOURCE_TYPES].toSorted(), ['file_upload', ...Object.keys(CONNECTOR_SERVICES)].toSorted());
  });

  for (const type of Object.keys(CONNECTOR_SERVICES)) {
    describe(type, () => {
      let service: ConnectorService;
      before(async () => {
        service = await CONNECTOR_SERVICES[type]!(3);
        for (let i = 0; i < 8; i++) service.put(`doc${i}`, `Text ${i}.`);
      });
      after(() => service.close());

      it('lists the first items and stores nothing', async () => {
        const rows = await countRows();
        const { status, json } = await probe(base, { type, config: service.config });
        assert.equal(status, 200, JSON.stringify(json));
        assertSchema(DataSourceProbe, json);
        assert.deepEqual([json.items.length, json.has_more], [5, true]);
        assert.ok(json.items.some(({ name, uri }: { name: string; uri: string }) => `${name} ${uri}`.includes('doc')));
        assert.deepEqual(await countRows(), rows);
      });

      it('rejects revoked credentials', async () => {
        if (service.revoke === null) return;
        service.revoke();
        const { status, json } = await probe(base, { type, config: service.config });
        assert.deepEqual([status, json.error.param], [400, 'config.credentials']);
      });
    });
  }

  it('lists files, and names one that does not exist', async () => {
    const form = encodeForm([
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: 'a.txt', content: 'a' },
    ]);
    const id: string = (await sendForm(`${api.url}/v1/files`, form, { key: api.key })).json.id;
    const { json } = await probe(base, { type: 'file_upload', config: { file_ids: [id] } });
    assert.deepEqual(json, { object: 'data_source_test', items: [{ name: 'a.txt', uri: id }], has_more: false });
    const missing = { type: 'file_upload', config: { file_ids: [id, newId('file')] } };
    assertError(await probe(base, missing), 404, 'file_not_found', 'config.file_ids.1');
  });

  it('rejects private addresses', async () => {
    const crawl = (url: string) => probe(base, { type: 'web_crawl', config: { urls: [url] } });
    assertError(await crawl('http://127.0.0.2:9/'), 400, 'invalid_value', 'config.urls.0');
    assertError(await crawl('http://169.254.169.254/latest/meta-data'), 400, 'invalid_value', 'config.urls.0');
  });

  it('follows no redirect to a private address', async (t) => {
    let reached = 0;
    const inner = await listen(t, '127.0.0.2', (_request, response) => {
      reached += 1;
      response.end('secret');
    });
    const outer = await listen(t, '127.0.0.1', (_request, response) => {
      response.writeHead(302, { location: inner }).end();
    });
    const credentials = { access_key_id: 'a', secret_access_key: 'b' };
    const crawl = { type: 'web_crawl', config: { urls: [outer] } };
    assertError(await probe(base, crawl), 400, 'invalid_value', 'config.urls.0');
    const bucket = { type: 's3', config: { bucket: 'bucket', endpoint: outer, credentials } };
    assertError(await probe(base, bucket), 400, 'invalid_value', 'config.endpoint');
    assert.equal(reached, 0);
  });

  it('tests a stored data source with its secrets, which go to no other server', async () => {
    const service = await CONNECTOR_SERVICES['s3']!(3);
    service.put('only', 'Text.');
    const { json } = await api.send('POST', `${BASES}/${base}/data-sources`, {
      body: { type: 's3', config: service.config },
    });
    const stored = { type: 's3', data_source_id: json.id };
    const shown = await probe(base, { ...stored, config: json.config });
    after(() => service.close());
    assert.deepEqual(shown.json.items, [{ name: 'only.txt', uri: 's3://bucket/only.txt' }]);
    const moved = await probe(base, { ...stored, config: { ...json.config, endpoint: 'http://127.0.0.1:9' } });
    assertError(moved, 400, 'invalid_value', 'config.credentials');
    assertError(await probe(base, { ...stored, type: 'gcs', config: {} }), 400, 'invalid_value', 'type');
    const other = { ...stored, config: json.config, data_source_id: newId('dataSource') };
    assertError(await probe(base, other), 404, 'data_source_not_found', 'data_source_id');
    assertError(
      await probe(await newBase(), { ...stored, config: {} }),
      404,
      'data_source_not_found',
      'data_source_id',
    );
  });

  it('400 for an invalid config, 401, 403 and 404', async () => {
    const body = { type: 'web_crawl', config: { urls: ['https://example.com'] } };
    assertError(await probe(base, { ...body, config: { urls: ['x'] } }), 400, 'invalid_value', 'config.urls.0');
    assertError(await probe(base, { type: 'ftp', config: {} }), 400, 'invalid_value', 'type');
    assertError(await probe(base, { type: 's3' }), 400, 'missing_required_field', 'config');
    assertError(await probe(base, body, null), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await probe(base, body, key), 403, 'insufficient_scope');
    const { key: noFiles } = await api.makeKey({ scopes: ['knowledge'] });
    const files = { type: 'file_upload', config: { file_ids: [newId('file')] } };
    assertError(await probe(base, files, noFiles), 403, 'insufficient_scope', 'config.file_ids');
    const { key: foreign } = await api.makeKey({ organization: 'foreign' });
    assertError(await probe(base, body, foreign), 404, 'knowledge_base_not_found', 'kb_id');
  });
});
