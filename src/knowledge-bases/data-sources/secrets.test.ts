import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, startApi, type TestApi } from '../../../test/harness.ts';
import { CONNECTORS } from '../../connectors/index.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { openSource } from './source-config.ts';
import { type DataSourceRow, selectDataSource } from './store.ts';

/** A unique value, to be searched where it must not appear. */
const SECRET = 'TOPSECRET';
const PEM = `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----\n`;
const ACCOUNT = { client_email: `${SECRET}@acme.example`, private_key: PEM };

const SOURCES: Record<string, { config: Record<string, unknown>; credentials: Record<string, unknown> }> = {
  s3: { config: { bucket: 'acme' }, credentials: { access_key_id: `${SECRET}1`, secret_access_key: `${SECRET}2` } },
  gcs: { config: { bucket: 'acme' }, credentials: { service_account_json: JSON.stringify(ACCOUNT) } },
  confluence: {
    config: { url: 'https://acme.example' },
    credentials: { email: `${SECRET}@b.example`, api_token: SECRET },
  },
  notion: { config: {}, credentials: { integration_token: SECRET } },
  google_drive: { config: {}, credentials: { service_account_json: ACCOUNT } },
};

describe('secrets of a data source', () => {
  const engine = bundledEmbedder();
  const logged: string[] = [];
  let api: TestApi;
  let close = async () => {};
  let base = '';
  before(async () => {
    const started = await startApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
    api = started.api;
    close = started.close;
    api.deps.logger.level = 'trace';
    for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) {
      api.deps.logger[level] = ((...words: unknown[]) => logged.push(JSON.stringify(words))) as never;
    }
    // The services do not exist.
    for (const connector of Object.values(CONNECTORS)) {
      const checked = connector as unknown as { checkAccess?: () => Promise<void> };
      if (checked.checkAccess !== undefined)
        mock.method(checked as Required<typeof checked>, 'checkAccess', async () => {});
    }
    base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
  });
  after(async () => {
    mock.restoreAll();
    await close();
    await engine.close();
  });

  const path = (id = '') => `/v1/knowledge-bases/${base}/data-sources${id && `/${id}`}`;
  const create = async (type: string, more: object = {}) => {
    const { config, credentials } = SOURCES[type] ?? assert.fail();
    return api.send('POST', path(), { body: { type, config: { ...config, credentials, ...more } } });
  };
  const patch = (id: string, config: object) => api.send('PATCH', path(id), { body: { config } });
  const rowOf = async (id: string): Promise<DataSourceRow> => {
    const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
    return (await selectDataSource(api.db.sql, organizationId, { baseId: base, id })) ?? assert.fail();
  };
  const credentialsOf = async (id: string) => openSource(api.deps, await rowOf(id)).config['credentials'];
  /** All text of all tables, including the queue's. */
  const everythingStored = async () => {
    const { rows } = await api.db.execute(
      "select table_schema || '.' || quote_ident(table_name) as name from information_schema.tables where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'",
    );
    const all: unknown[] = [];
    for (const { name } of rows as { name: string }[]) all.push((await api.db.execute(`select * from ${name}`)).rows);
    return JSON.stringify(all);
  };

  for (const [type, { credentials }] of Object.entries(SOURCES)) {
    it(`${type}: appear in no response, log or table, and are decrypted for jobs only`, async () => {
      assertError(await create(type, { secret_field: SECRET }), 400, 'invalid_value', 'config.secret_field');
      const made = await create(type);
      assert.equal(made.status, 200, made.text);
      const shown = Object.fromEntries(Object.keys(credentials).map((name) => [name, '***']));
      assert.deepEqual(made.json.config.credentials, shown);
      const { id } = made.json;
      const answers = [
        made,
        await api.send('GET', path(id)),
        await api.send('GET', path()),
        await api.send('POST', `${path(id)}/sync`),
        await patch(id, { metadata: { a: 1 } }),
        await patch(id, { credentials: { [Object.keys(credentials)[0] ?? '']: 7 } }),
        await api.send('GET', `/v1/knowledge-bases/${base}/ingestion-jobs`),
      ];
      for (const { text } of answers) assert.ok(!text.includes(SECRET), text);
      assert.ok(logged.length > 0);
      assert.deepEqual(
        logged.filter((line) => line.includes(SECRET)),
        [],
      );
      assert.ok(!(await everythingStored()).includes(SECRET));
      const expected = 'service_account_json' in credentials ? { service_account_json: ACCOUNT } : credentials;
      assert.deepEqual(await credentialsOf(id), expected);
    });
  }

  it('appear in no error message', async () => {
    const wrong = { secret_access_key: `${SECRET} with a space`, access_key_id: SECRET };
    const refused = await create('s3', { credentials: wrong });
    assertError(refused, 400, 'invalid_value', 'config.credentials.secret_access_key');
    assert.ok(!refused.text.includes(SECRET));
    assert.deepEqual(
      logged.filter((line) => line.includes(SECRET)),
      [],
    );
  });

  it('keep their value when sent redacted, alone or with a new secret', async () => {
    const { json } = await create('s3');
    const sentBack = await patch(json.id, { ...json.config, prefix: 'docs/' });
    assert.equal(sentBack.status, 200, sentBack.text);
    assert.equal(sentBack.json.config.prefix, 'docs/');
    assert.deepEqual(await credentialsOf(json.id), SOURCES['s3']?.credentials);
    await patch(json.id, { credentials: { access_key_id: '***', secret_access_key: 'NEW' } });
    assert.deepEqual(await credentialsOf(json.id), { access_key_id: `${SECRET}1`, secret_access_key: 'NEW' });
    await patch(json.id, { credentials: { access_key_id: 'NEWONE' } });
    assert.deepEqual(await credentialsOf(json.id), { access_key_id: 'NEWONE', secret_access_key: 'NEW' });
  });

  it('400 for a redacted secret without a stored one', async () => {
    const shown = { credentials: { integration_token: '***' } };
    assertError(await create('notion', shown), 400, 'invalid_value', 'config.credentials.integration_token');
    const { id } = (await create('notion')).json;
    const param = 'config.credentials.integration_token';
    assertError(await patch(id, { credentials: { integration_token: null } }), 400, 'missing_required_field', param);
    assertError(await patch(id, { credentials: null }), 400, 'missing_required_field', 'config.credentials');
    assert.deepEqual(await credentialsOf(id), SOURCES['notion']?.credentials);
  });

  it('400 for a new destination without new secrets', async () => {
    const { id, config } = (await create('confluence')).json;
    const url = 'https://thief.example';
    for (const credentials of [
      undefined,
      config.credentials,
      { api_token: 'new' },
      { email: 'a@b', api_token: '***' },
    ]) {
      assertError(await patch(id, { url, credentials }), 400, 'invalid_value', 'config.credentials');
    }
    const credentials = { email: 'new@b.example', api_token: 'new' };
    assert.equal((await patch(id, { url, credentials })).json.config.url, url);
    assert.deepEqual(await credentialsOf(id), credentials);
  });

  it('encrypted with another key: the job fails with authentication_failed until a PATCH replaces them', async () => {
    const { id } = (await create('s3')).json;
    const lost = createSecrets('a key that is lost, of 32 characters').seal('{"credentials":{}}', id);
    await api.db.execute('update data_sources set sealed_secrets = $1 where id = $2', [lost, id]);
    const row = await rowOf(id);
    assert.throws(
      () => openSource(api.deps, row),
      (error: unknown) => error instanceof IngestionError && error.code === 'authentication_failed',
    );
    assert.equal((await api.send('GET', path(id))).status, 200);
    assert.equal((await api.send('PATCH', path(id), { body: { name: 'New' } })).status, 200);
    assertError(await patch(id, { prefix: 'a' }), 400, 'missing_required_field', 'config.credentials');
    const shown = { access_key_id: 'AKIA', secret_access_key: '***' };
    const param = 'config.credentials.secret_access_key';
    assertError(await patch(id, { credentials: shown }), 400, 'invalid_value', param);
    const credentials = { access_key_id: 'AKIA', secret_access_key: 'again' };
    assert.equal((await patch(id, { credentials })).status, 200);
    assert.deepEqual(await credentialsOf(id), credentials);
  });

  it('cannot be decrypted in the row of another data source', async () => {
    const [one, other] = [(await create('s3')).json.id, (await create('s3')).json.id];
    const moved = { ...(await rowOf(one)), id: other };
    assert.throws(() => openSource(api.deps, moved), IngestionError);
  });
});
