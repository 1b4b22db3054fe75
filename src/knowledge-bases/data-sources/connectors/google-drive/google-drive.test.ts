import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type GoogleServer, googleError, startGoogleServer } from '../../../../../test/fixtures/google-server.ts';
import { assertError } from '../../../../../test/harness.ts';
import { useSync } from '../../../../../test/sync.ts';
import { CONNECTORS } from '../index.ts';
import type { DriveFile } from './drive-api.ts';
import { createGoogleDrive, googleDrive } from './google-drive.ts';

type Job = Record<string, unknown>;
/** A file of the server; `shared`: it is on a shared drive. */
type ServedFile = Omit<DriveFile, 'id'> & { parents: string[]; content?: string; shared?: boolean; status?: number };

const EDITOR = 'application/vnd.google-apps.';
const PAGE_SIZE = 2;
const counts = (job: Job) => ['new', 'modified', 'deleted', 'skipped'].map((name) => job[`documents_${name}`]);
const names = (documents: { name: string }[]) => documents.map(({ name }) => name);

describe('a data source of the type google_drive', () => {
  const { api, create, attempt } = useSync();
  let google: GoogleServer;
  let isIncomplete = false;
  const files = new Map<string, ServedFile>();
  const put = (id: string, name: string, more: Partial<ServedFile> = {}) =>
    files.set(id, { name, mimeType: 'text/plain', modifiedTime: '2026-01-01T00:00:00.000Z', parents: [], ...more });
  before(async () => {
    google = await startGoogleServer();
    google.route = (url) => routeDrive(files, url, isIncomplete);
    Object.assign(CONNECTORS, { google_drive: createGoogleDrive(google.url) });
    const folder = { mimeType: `${EDITOR}folder` };
    put('top', 'Top', folder);
    put('sub', 'Sub', { ...folder, parents: ['top'] });
    put('doc', 'Plan', { mimeType: `${EDITOR}document`, parents: ['sub'], content: '# Plan\n\nGranite plan.' });
    put('sheet', 'Costs', { mimeType: `${EDITOR}spreadsheet`, parents: ['top'], content: 'item,cost\nsalmon,7\n' });
    put('form', 'Form', { mimeType: `${EDITOR}form`, parents: ['top'] });
    put('photo', 'photo.png', { mimeType: 'image/png', md5Checksum: 'p', parents: ['top'] });
    put('notes', 'notes.txt', { md5Checksum: 'n1', parents: ['top'], content: 'Copper notes.' });
    put('denied', 'denied.txt', { md5Checksum: 'd', parents: ['top'], status: 403 });
    put('far', 'far.txt', { md5Checksum: 'f', content: 'Basalt far away.' });
    const shortcut = { mimeType: `${EDITOR}shortcut`, parents: ['sub'] };
    put('link', 'Link', { ...shortcut, shortcutDetails: { targetId: 'far' } });
    put('cycle', 'Cycle', { ...shortcut, shortcutDetails: { targetId: 'top' } });
    put('broken', 'Broken', { ...shortcut, shortcutDetails: { targetId: 'gone' } });
    put('shared', 'shared.txt', { md5Checksum: 's', content: 'On a shared drive.', shared: true });
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
    assert.deepEqual([source.first.status, source.first.documents_processed], ['completed', 4]);
    const failed = source.first.document_details.find(({ status }: Job) => status === 'failed');
    assert.deepEqual([failed.document_name, failed.error.code], ['denied.txt', 'access_denied']);
    assert.deepEqual(names(await source.documents()), ['Costs', 'denied.txt', 'far.txt', 'notes.txt', 'Plan']);
    const [plan] = await source.find('granite');
    assert.deepEqual([plan.document_name, plan.metadata.mime_type], ['Plan', `${EDITOR}document`]);
    assert.equal((await source.find('salmon')).length, 1);

    files.delete('denied');
    files.delete('sheet');
    Object.assign(files.get('doc') ?? {}, { modifiedTime: '2026-01-02T00:00:00.000Z', content: 'Gneiss plan.' });
    google.requests.length = 0;
    google.faults = [googleError(403, 'slow', 'userRateLimitExceeded')];
    assert.deepEqual(counts(await source.sync()), [0, 1, 2, 2]);
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
    isIncomplete = true;
    const job = await all.sync();
    isIncomplete = false;
    assert.deepEqual([job.status, job.documents_deleted], ['failed', 0]);
  });

  it('fails without deletions when a named folder is gone; 400 for one at creation', async () => {
    put('lone', 'Lone', { mimeType: `${EDITOR}folder` });
    put('inside', 'inside.txt', { md5Checksum: 'i', parents: ['lone'], content: 'Inside.' });
    const source = await create(body({ folder_ids: ['lone'] }));
    files.delete('lone');
    const job = await source.sync();
    assert.deepEqual([job.status, job.error.code, job.documents_deleted], ['failed', 'not_found', 0]);
    assertError(await attempt(body({ folder_ids: ['lone'] })), 400, 'invalid_value', 'config');
    google.isRevoked = true;
    assertError(await attempt(body()), 400, 'invalid_value', 'config.credentials');
    google.isRevoked = false;
  });
});

/** https://developers.google.com/workspace/drive/api/reference/rest/v3/files: list, get and export. */
function routeDrive(files: ReadonlyMap<string, ServedFile>, url: URL, isIncomplete: boolean) {
  const [, id, rest] = /^\/drive\/v3\/files(?:\/([\w-]+))?(\/export)?$/.exec(url.pathname) ?? [];
  const query = url.searchParams;
  if (!url.pathname.startsWith('/drive/v3/files')) return null;
  if (id === undefined) {
    const parent = /^'([\w-]+)' in parents/.exec(query.get('q') ?? '')?.[1];
    const matching = [...files]
      .filter(([, file]) => parent === undefined || file.parents.includes(parent))
      .filter(([, file]) => file.shared !== true || query.get('includeItemsFromAllDrives') === 'true')
      .map(([fileId, file]) => view(fileId, file));
    const from = Number(query.get('pageToken') ?? 0);
    const size = Math.min(PAGE_SIZE, Number(query.get('pageSize')));
    const next = from + size < matching.length ? { nextPageToken: String(from + size) } : {};
    return { status: 200, json: { files: matching.slice(from, from + size), incompleteSearch: isIncomplete, ...next } };
  }
  const file = files.get(id);
  if (file === undefined) return googleError(404, `File not found: ${id}.`, 'notFound');
  const isContent = rest !== undefined || query.get('alt') === 'media';
  if (!isContent) return { status: 200, json: view(id, file) };
  if (file.status !== undefined) return googleError(file.status, 'The user does not have sufficient permissions.');
  // Documents of the editors can be exported only, other files downloaded only.
  if (file.mimeType.startsWith(EDITOR) !== (rest !== undefined)) return googleError(403, 'fileNotDownloadable');
  return { status: 200, body: file.content ?? '', headers: { 'content-type': file.mimeType } };
}

function view(
  id: string,
  { parents: _parents, content: _content, shared: _shared, status: _status, ...file }: ServedFile,
) {
  return { id, ...file, webViewLink: `https://drive.google.com/file/d/${id}/view` };
}
