import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DriveFixture, EDITOR, makeOds, type ServedFile } from '../../../test/fixtures/drive-server.ts';
import { type GoogleServer, googleError, startGoogleServer } from '../../../test/fixtures/google-server.ts';
import { assertError } from '../../../test/harness.ts';
import { useSync } from '../../../test/sync.ts';
import { CONNECTORS } from '../index.ts';
import { createGoogleDrive, googleDrive } from './google-drive.ts';

type Job = Record<string, unknown>;

const counts = (job: Job) => ['new', 'modified', 'deleted', 'skipped'].map((name) => job[`documents_${name}`]);
const names = (documents: { name: string }[]) => documents.map(({ name }) => name);

describe('a data source of the type google_drive', () => {
  const { api, create, probe } = useSync();
  let google: GoogleServer;
  const drive = new DriveFixture();
  const put = (id: string, name: string, more: Partial<ServedFile> = {}) => drive.put(id, { name, ...more });
  before(async () => {
    google = await startGoogleServer();
    google.route = (url) => drive.route(url);
    Object.assign(CONNECTORS, { google_drive: createGoogleDrive(google.url) });
    const folder = { mimeType: `${EDITOR}folder` };
    put('top', 'Top', folder);
    put('sub', 'Sub', { ...folder, parents: ['top'] });
    put('doc', 'Plan', { mimeType: `${EDITOR}document`, parents: ['sub'], content: '# Plan\n\nGranite plan.' });
    put('sheet', 'Costs', {
      mimeType: `${EDITOR}spreadsheet`,
      parents: ['top'],
      content: makeOds({
        Fish: [
          ['item', 'cost'],
          ['salmon', '7'],
        ],
        Metals: [['copper', '9']],
      }),
    });
    put('form', 'Form', { mimeType: `${EDITOR}form`, parents: ['top'] });
    put('photo', 'photo.gif', { mimeType: 'image/gif', md5Checksum: 'p', parents: ['top'] });
    put('notes', 'notes.txt', { md5Checksum: 'n1', parents: ['top'], content: 'Copper notes.' });
    put('denied', 'denied.txt', { md5Checksum: 'd', parents: ['top'], status: 403 });
    put('far', 'far.txt', { md5Checksum: 'f', content: 'Basalt far away.' });
    const shortcut = { mimeType: `${EDITOR}shortcut`, parents: ['sub'] };
    put('link', 'Link', { ...shortcut, shortcutDetails: { targetId: 'far' } });
    put('cycle', 'Cycle', { ...shortcut, shortcutDetails: { targetId: 'top', targetMimeType: `${EDITOR}folder` } });
    put('broken', 'Broken', { ...shortcut, shortcutDetails: { targetId: 'gone' } });
    put('shared', 'shared.txt', { md5Checksum: 's', content: 'On a shared drive.', driveId: 'D1' });
    drive.driveIds.push('D1');
  });
  after(() => {
    Object.assign(CONNECTORS, { google_drive: googleDrive });
    google.close();
  });
  const body = (more: object = {}) => {
    const credentials = { service_account_json: google.account };
    return { type: 'google_drive', config: { folder_ids: ['top'], credentials, ...more } };
  };

  it('ingests documents, files and targets of shortcuts below a folder, and sees changes and deletions', async () => {
    const source = await create(body());
    assert.deepEqual([source.first.status, source.first.documents_processed], ['completed', 5]);
    const failed = source.first.document_details.find(({ status }: Job) => status === 'failed');
    assert.deepEqual([failed.document_name, failed.error.code], ['denied.txt', 'access_denied']);
    assert.deepEqual(names(await source.documents()), ['Costs', 'Costs', 'denied.txt', 'far.txt', 'notes.txt', 'Plan']);
    const [plan] = await source.find('granite');
    assert.deepEqual([plan.document_name, plan.metadata.mime_type], ['Plan', `${EDITOR}document`]);
    assert.equal((await source.find('salmon')).length, 1);
    assert.equal((await source.find('copper 9'))[0].document_name, 'Costs', 'the second sheet');

    drive.remove('denied');
    drive.remove('sheet');
    drive.put('doc', { modifiedTime: '2026-01-02T00:00:00.000Z', content: 'Gneiss plan.' });
    google.requests.length = 0;
    google.faults = [googleError(403, 'slow', 'userRateLimitExceeded')];
    assert.deepEqual(counts(await source.sync()), [0, 1, 3, 2]);
    assert.deepEqual(
      google.requests.filter((path) => path.includes('/files?')),
      [],
      'the change log replaces the listing',
    );
    assert.equal(google.requests.filter((path) => /alt=media|export/.test(path)).length, 1);
    assert.equal((await source.find('gneiss')).length, 1);

    google.isRevoked = true;
    const job = await source.sync();
    google.isRevoked = false;
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'authentication_failed', 0]);
    const rotated = { config: { credentials: { service_account_json: google.account } } };
    assert.equal((await api.send('PATCH', source.path, { body: rotated })).status, 200);
    assert.equal((await source.sync()).status, 'completed');
  });

  it('reads all files without folder_ids, and shared drives on request', async () => {
    const own = await create(body({ folder_ids: undefined }));
    assert.ok(!names(await own.documents()).includes('shared.txt'));
    const all = await create(body({ folder_ids: undefined, include_shared_drives: true }));
    assert.ok(names(await all.documents()).includes('shared.txt'));
    drive.isIncomplete = true;
    // Without its position in the change log, it lists again.
    drive.firstToken = 1000;
    const job = await all.sync();
    drive.isIncomplete = false;
    drive.firstToken = 0;
    assert.deepEqual([job.status, job.documents_deleted], ['failed', 0]);
  });

  it('reads the change log: moved folders, removed folders, shared drives, an expired position', async () => {
    const folder = { mimeType: `${EDITOR}folder` };
    drive.put('root', folder);
    drive.put('kept', { md5Checksum: 'k', parents: ['root'], name: 'kept.txt', content: 'Kept.' });
    drive.put('away', folder);
    drive.put('inner', { ...folder, parents: ['away'] });
    drive.put('deep', { md5Checksum: 'd', parents: ['inner'], name: 'deep.txt', content: 'Deep.' });
    drive.put('team', { ...folder, driveId: 'D1', parents: ['D1'] });
    drive.put('plan', { md5Checksum: 'p', parents: ['team'], name: 'plan.txt', content: 'Plan.', driveId: 'D1' });
    const source = await create(body({ folder_ids: ['root', 'team'], include_shared_drives: true }));
    const listed = async () => names(await source.documents());
    assert.deepEqual(await listed(), ['kept.txt', 'plan.txt']);
    drive.put('away', { parents: ['root'] });
    drive.put('plan', { md5Checksum: 'p2', content: 'New plan.' });
    google.requests.length = 0;
    assert.deepEqual(counts(await source.sync()), [1, 1, 0, 1]);
    assert.deepEqual(await listed(), ['deep.txt', 'kept.txt', 'plan.txt']);
    assert.equal(google.requests.filter((path) => path.includes('/files?')).length, 2, 'the new folders are listed');

    drive.firstToken = 1000;
    drive.put('kept', { md5Checksum: 'k2' });
    assert.deepEqual(counts(await source.sync()), [0, 1, 0, 2]);
    drive.firstToken = 0;
    drive.put('away', { trashed: true });
    assert.deepEqual(counts(await source.sync()), [0, 0, 1, 2]);
    drive.driveIds.push('D2');
    google.requests.length = 0;
    assert.deepEqual(counts(await source.sync()), [0, 0, 0, 2]);
    assert.ok(
      google.requests.some((path) => path.includes('/files?')),
      'a new drive leads to a listing',
    );
    drive.driveIds.pop();

    await source.sync();
    const everything = { config: { folder_ids: null } };
    assert.equal((await api.send('PATCH', source.path, { body: everything })).status, 200);
    await source.sync();
    assert.ok((await listed()).includes('far.txt'), 'another selection leads to a listing');
  });

  it('too_large for a document above the limit of exports, and access_denied for one without rights', async () => {
    put('exports', 'Exports', { mimeType: `${EDITOR}folder` });
    const document = { mimeType: `${EDITOR}document`, parents: ['exports'], status: 403 };
    put('large', 'Large', { ...document, reason: 'exportSizeLimitExceeded' });
    put('closed', 'Closed', document);
    const source = await create(body({ folder_ids: ['exports'] }));
    const errors = source.first.document_details.map(({ document_name, error }: Job) => [
      document_name,
      (error as Job)['code'],
      (error as Job)['retryable'],
    ]);
    assert.deepEqual(errors.toSorted(), [
      ['Closed', 'access_denied', false],
      ['Large', 'too_large', false],
    ]);
  });

  it('fails without deletions when a named folder is gone; 400 for one at a test', async () => {
    put('lone', 'Lone', { mimeType: `${EDITOR}folder` });
    put('inside', 'inside.txt', { md5Checksum: 'i', parents: ['lone'], content: 'Inside.' });
    const source = await create(body({ folder_ids: ['lone'] }));
    drive.remove('lone');
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'not_found', 0]);
    assertError(await probe(body({ folder_ids: ['lone'] })), 400, 'invalid_value', 'config');
    google.isRevoked = true;
    assertError(await probe(body()), 400, 'invalid_value', 'config.credentials');
    google.isRevoked = false;
  });
});
