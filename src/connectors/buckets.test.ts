import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type GoogleServer, googleError, startGoogleServer } from '../../test/fixtures/google-server.ts';
import { type S3Server, startS3Server } from '../../test/fixtures/s3-server.ts';
import { assertError } from '../../test/harness.ts';
import { useSync } from '../../test/sync.ts';
import { documentFormat } from '../extraction/formats.ts';
import { isSupportedFile } from './file-formats.ts';

const { api, create, probe } = useSync();
type Job = Record<string, unknown>;
const counts = (job: Job) =>
  ['new', 'modified', 'deleted', 'skipped'].map((name) => job[`documents_${name}`]) as number[];

describe('isSupportedFile', () => {
  it('agrees with the formats of the extraction', () => {
    const names = [
      'a.pdf',
      'a.PDF',
      'x/y.md',
      'a.docx',
      'a.htm',
      'a.ndjson',
      'a.tsv',
      'a.zip',
      'a',
      'a.json',
      '.pdf/x',
      'a.png',
      'a.TIF',
      'a.gif',
    ];
    for (const name of names) assert.equal(isSupportedFile(name), documentFormat(name, null) !== null, name);
  });
});

describe('a data source of the type s3', () => {
  let s3: S3Server;
  before(async () => {
    s3 = await startS3Server();
    s3.accessKeyId = 'AKIA1';
  });
  after(() => s3.close());
  const body = (more: object = {}) => {
    const credentials = { access_key_id: 'AKIA1', secret_access_key: 'secret' };
    const endpoint = new URL(s3.url()).searchParams.get('endpoint');
    return { type: 's3', config: { bucket: 'bucket', prefix: 'docs/', endpoint, credentials, ...more } };
  };

  it('ingests objects with their metadata, and sees changes, deletions and revoked keys', async () => {
    for (let i = 0; i < 5; i++) s3.objects.set(`docs/${i}.txt`, Buffer.from(`Document ${i} on granite.`));
    s3.objects.set('docs/a b+ü.md', Buffer.from('# Salmon'));
    s3.objects.set('docs/photo.gif', Buffer.from('gif'));
    s3.objects.set('other/x.txt', Buffer.from('Not in the prefix.'));
    s3.metadata.set('docs/0.txt', { team: 'quarry' });
    const source = await create(body());
    assert.deepEqual([source.first.status, ...counts(source.first)], ['completed', 6, 0, 0, 0]);
    const [found] = await source.find('granite', { filters: { metadata: { team: 'quarry' } } });
    assert.equal(found.document_name, 'docs/0.txt');
    assert.equal((await source.documents())[0].source_uri, 's3://bucket/docs/0.txt');
    assert.equal((await source.find('salmon')).length, 1);

    s3.objects.set('docs/1.txt', Buffer.from('Now about basalt.'));
    s3.objects.delete('docs/2.txt');
    s3.operations.length = 0;
    assert.deepEqual(counts(await source.sync()), [0, 1, 1, 4]);
    assert.deepEqual(s3.operations, ['GET objects', 'GET object'], 'one listing and one changed object');
    assert.equal((await source.find('basalt')).length, 1);

    s3.accessKeyId = 'AKIA2';
    const failed = await source.sync();
    assert.deepEqual(
      [failed.status, failed.error.code, failed.documents_deleted],
      ['failed', 'authentication_failed', 0],
    );
    assert.equal((await source.source()).error.code, 'authentication_failed');
    const rotated = { config: { credentials: { access_key_id: 'AKIA2', secret_access_key: 'new' } } };
    assert.equal((await api.send('PATCH', source.path, { body: rotated })).status, 200);
    const synced = await source.sync();
    assert.deepEqual([synced.status, (await source.source()).error], ['completed', null]);
    s3.accessKeyId = 'AKIA1';
  });

  it('lists all pages and fails without deletions when a page fails', async () => {
    for (let i = 0; i < 1100; i++) s3.objects.set(`many/${String(i).padStart(4, '0')}.gif`, Buffer.from('x'));
    s3.objects.set('many/z.txt', Buffer.from('The last object.'));
    const source = await create(body({ prefix: 'many/' }));
    assert.equal((await source.documents()).length, 1);
    s3.fault = () => 403;
    const job = await source.sync();
    s3.fault = null;
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'access_denied', 0]);
  });

  it('400 for rejected credentials, unknown buckets, blocked and unreachable endpoints', async () => {
    const wrong = { credentials: { access_key_id: 'AKIA0', secret_access_key: 'SECRET' } };
    const rejected = await probe(body(wrong));
    assertError(rejected, 400, 'invalid_value', 'config.credentials');
    assert.doesNotMatch(rejected.text, /SECRET/);
    assertError(await probe(body({ bucket: 'unknown' })), 400, 'invalid_value', 'config');
    for (const endpoint of ['http://127.0.0.2:9', 'http://2130706434/', 'http://[::1]/', 'http://169.254.169.254/']) {
      const blocked = await probe(body({ endpoint }));
      assertError(blocked, 400, 'invalid_value', 'config.endpoint');
      assert.match(blocked.json.error.message, /blocked address/);
    }
    const unreachable = await probe(body({ endpoint: 'http://127.0.0.1:9' }));
    assertError(unreachable, 400, 'invalid_value', 'config.endpoint');
    assert.match(unreachable.json.error.message, /could not be reached/);
  });
});

describe('a data source of the type gcs', () => {
  let google: GoogleServer;
  before(async () => {
    google = await startGoogleServer();
  });
  after(() => google.close());
  const body = (more: object = {}) => {
    const credentials = { service_account_json: google.account };
    return { type: 'gcs', config: { bucket: 'bucket', endpoint: google.url, credentials, ...more } };
  };
  const put = (name: string, content: string, generation = 1, more: object = {}) =>
    google.objects.set(name, { content, contentType: 'text/plain', generation, ...more });

  it('ingests objects with their metadata, and sees changes, deletions and revoked keys', async () => {
    put('a.txt', 'Granite.', 1, { metadata: { team: 'quarry' } });
    put('b/ü x.txt', 'Salmon.');
    put('c.txt', 'Copper.');
    put('photo.gif', 'gif');
    put('denied.txt', 'secret', 1, { status: 403 });
    const source = await create(body());
    assert.deepEqual([source.first.status, source.first.documents_processed], ['completed', 3]);
    const failed = source.first.document_details.find(({ status }: Job) => status === 'failed');
    assert.deepEqual([failed.document_name, failed.error.code], ['denied.txt', 'access_denied']);
    const [found] = await source.find('granite', { filters: { metadata: { team: 'quarry' } } });
    assert.deepEqual([found.document_name, found.metadata.last_modified], ['a.txt', '2026-01-01T00:00:01.000Z']);
    assert.equal((await source.find('salmon')).length, 1);

    google.objects.delete('denied.txt');
    put('a.txt', 'Basalt.', 2);
    google.objects.delete('c.txt');
    google.requests.length = 0;
    // 429 and Google's 403 for too many requests are retried.
    google.faults = [googleError(403, 'slow', 'rateLimitExceeded'), { status: 429, headers: { 'retry-after': '0' } }];
    assert.deepEqual(counts(await source.sync()), [0, 1, 2, 1]);
    assert.equal(google.requests.filter((path) => path.includes('alt=media')).length, 1);
    assert.equal(google.requests.filter((path) => path.includes('/token')).length, 1, 'the job is not retried');

    google.isRevoked = true;
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'authentication_failed', 0]);
    assert.equal((await source.documents()).length, 2);
    assertError(await probe(body()), 400, 'invalid_value', 'config.credentials');
    google.isRevoked = false;
  });

  it('400 for unknown buckets and blocked endpoints and token servers', async () => {
    assertError(await probe(body({ bucket: 'unknown' })), 400, 'invalid_value', 'config');
    assertError(await probe(body({ endpoint: 'http://localhost.:1' })), 400, 'invalid_value', 'config.endpoint');
    google.tokenFault = googleError(403, 'Not the format of a token server.');
    assertError(await probe(body()), 400, 'invalid_value', 'config.credentials');
    google.tokenFault = null;
    const account = { ...google.account, token_uri: 'http://169.254.169.254/token' };
    const answer = await probe(body({ credentials: { service_account_json: account } }));
    assertError(answer, 400, 'invalid_value', 'config.credentials.service_account_json.token_uri');
    assert.match(answer.json.error.message, /blocked address/);
  });
});
