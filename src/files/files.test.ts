import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { encodeForm, type Part, sendForm } from '../../test/forms.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { newBlobKey } from '../blobs/blob-store.ts';
import { listSchema } from '../db/page.ts';
import { newId } from '../lib/ids.ts';
import { createLogger } from '../lib/logger.ts';
import { deleteExpiredFiles } from './delete-file.ts';
import { deleteOrphanedBlobs } from './orphaned-blobs.ts';
import { DeletedFile, File } from './schema.ts';
import { deleteFileUses, insertOrphanedBlob, selectFile, updateFailed, updateProcessed } from './store.ts';
import { orphanedBlobs } from './tables.ts';
import { uploadFile } from './upload-file.ts';
import { useFile } from './use-file.ts';

/** A JSONL file of ten bytes, and text with unique positions for range tests. */
const CONTENT = '{"a":5678}';
const forever = new AbortController().signal;

describe('files', () => {
  const api = useApi();
  const deps = () => ({
    ...{ db: api.db, blobs: api.blobs, jobs: api.deps.jobs },
    ...{ logger: createLogger('silent'), now: Date.now },
  });
  const upload = async (purpose = 'knowledge-base', filename = 'a.jsonl', key = api.key) => {
    const parts: Part[] = [
      { name: 'purpose', content: purpose },
      { name: 'file', filename, content: CONTENT },
    ];
    const answer = await sendForm(`${api.url}/v1/files`, encodeForm(parts), { key });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  /** Creates a key of an organization without files. */
  const newKey = async (organization: string) => (await api.makeKey({ organization })).key;
  const findOrganization = async (key: string) =>
    (await api.authenticator.authenticate(`Bearer ${key}`)).organizationId;
  const blobsKept = () =>
    readdirSync(api.blobFolder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

  const ROUTES = [
    ['GET', ''],
    ['GET', '/content'],
    ['DELETE', ''],
  ] as const;

  it('GET /v1/files/{file_id} returns the file object', async () => {
    const file = await upload();
    const answer = await api.send('GET', `/v1/files/${file.id}`);
    assertSchema(File, answer.json);
    assert.deepEqual(answer.json, { ...file, status: 'processed' });
  });

  it('404 file_not_found for unknown and malformed ids, and for files of another organization', async () => {
    const { id } = await upload();
    const foreign = await newKey('foreign');
    for (const [method, rest] of ROUTES) {
      assertError(await api.send(method, `/v1/files/${id}${rest}`, { key: foreign }), 404, 'file_not_found', 'file_id');
      for (const unknown of [newId('file'), 'file-1', 'x', '%00', newId('moderation'), `${id}%20`]) {
        assertError(await api.send(method, `/v1/files/${unknown}${rest}`), 404, 'file_not_found', 'file_id');
      }
    }
    assert.equal((await api.send('GET', `/v1/files/${id}`)).status, 200);
  });

  it('401 without a key, 403 without the scope, on every route', async () => {
    const { id } = await upload();
    const { key } = await api.makeKey({ scopes: ['inference', 'knowledge', 'guardrails'] });
    for (const [method, path] of [...ROUTES.map(([method, rest]) => [method, `/${id}${rest}`]), ['GET', '']] as const) {
      assertError(await api.send(method, `/v1/files${path}`, { key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, `/v1/files${path}`, { key }), 403, 'insufficient_scope');
    }
  });

  it('405 with Allow for other methods', async () => {
    assertError(await api.send('PUT', '/v1/files'), 405, 'method_not_allowed');
    const answer = await api.send('POST', `/v1/files/${newId('file')}`);
    assertError(answer, 405, 'method_not_allowed');
    assert.match(answer.headers.get('allow') ?? '', /DELETE/);
  });

  it('GET /v1/files pages through the files of one purpose or of all, in order, without files of other organizations', async () => {
    const key = await newKey('lister');
    const made = [];
    for (let at = 0; at < 7; at += 1) made.push(await upload(at % 2 === 0 ? 'batch' : 'fine-tune', 'a.jsonl', key));
    const ids = made.map(({ id }) => id);
    const read = async (query: string) => {
      const seen: string[] = [];
      for (let after = ''; ; ) {
        const { json } = await api.send('GET', `/v1/files?limit=2${query}${after}`, { key });
        assertSchema(listSchema(File), json);
        seen.push(...json.data.map((file: { id: string }) => file.id));
        if (!json.has_more) return seen;
        assert.equal(json.last_id, json.data.at(-1).id);
        after = `&after=${json.last_id}`;
      }
    };
    assert.deepEqual(await read(''), ids);
    assert.deepEqual(
      await read('&purpose=batch'),
      ids.filter((_, at) => at % 2 === 0),
    );
    assert.deepEqual(await read('&purpose=knowledge-base'), []);
    assert.deepEqual(await read('&order=desc'), ids.toReversed());
    assert.deepEqual(
      await read('&search=A.JSON&purpose=fine-tune'),
      ids.filter((_, at) => at % 2 === 1),
    );
    assert.deepEqual(await read('&search=b.jsonl'), []);
  });

  it('GET /v1/files: 400 for an invalid limit, cursor or purpose', async () => {
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=x', 'limit'],
      ['after=file-1', 'after'],
      [`after=${newId('moderation')}`, 'after'],
      ['purpose=vision', 'purpose'],
      ['order=newest', 'order'],
    ] as const) {
      assertError(await api.send('GET', `/v1/files?${query}`), 400, 'invalid_value', param);
    }
    assert.deepEqual((await api.send('GET', `/v1/files?after=${newId('file')}`)).json.data, []);
  });

  describe('GET /v1/files/{file_id}/content', () => {
    const content = async (id: string, headers: Record<string, string> = {}, method = 'GET') =>
      api.send(method, `/v1/files/${id}/content`, { headers });

    it('returns the bytes with content type, file name, ETag and attachment disposition', async () => {
      const { id } = await upload('knowledge-base', 'R\u00e9sum\u00e9 \\"1\\".html');
      const { status, text, headers } = await content(id);
      assert.deepEqual([status, text], [200, CONTENT]);
      const etag = `"${createHash('sha256').update(CONTENT).digest('hex')}"`;
      const expected = {
        'content-length': '10',
        'content-type': 'text/html',
        'content-disposition': `attachment; filename="R_sum_ _1_.html"; filename*=UTF-8''R%C3%A9sum%C3%A9%20%221%22.html`,
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-cache',
        'x-content-type-options': 'nosniff',
        etag,
      };
      for (const [name, value] of Object.entries(expected)) assert.equal(headers.get(name), value, name);
      const head = await content(id, {}, 'HEAD');
      assert.deepEqual([head.status, head.text, head.headers.get('content-length')], [200, '', '10']);
      assert.equal(head.headers.get('etag'), etag);
    });

    it('supports one range; multiple and invalid ranges get the whole file', async () => {
      const { id } = await upload();
      for (const [range, status, text, contentRange] of [
        ['bytes=0-0', 206, '{', 'bytes 0-0/10'],
        ['bytes=2-4', 206, 'a":', 'bytes 2-4/10'],
        ['bytes=7-', 206, '78}', 'bytes 7-9/10'],
        ['bytes=7-100', 206, '78}', 'bytes 7-9/10'],
        ['bytes=-3', 206, '78}', 'bytes 7-9/10'],
        ['bytes=-100', 206, CONTENT, 'bytes 0-9/10'],
        ['bytes=9-9', 206, '}', 'bytes 9-9/10'],
        ['bytes=0-1,4-5', 200, CONTENT, null],
        ['bytes=5-2', 200, CONTENT, null],
        ['bytes=-', 200, CONTENT, null],
        ['lines=1-2', 200, CONTENT, null],
        ['bytes=a-b', 200, CONTENT, null],
      ] as const) {
        const answer = await content(id, { range });
        assert.deepEqual(
          [answer.status, answer.text, answer.headers.get('content-range')],
          [status, text, contentRange],
          range,
        );
        assert.equal(answer.headers.get('content-length'), String(text.length), range);
      }
    });

    it('416 with the size for a range after the end', async () => {
      const { id } = await upload();
      for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=99999999999999999999-']) {
        const answer = await content(id, { range });
        assertError(answer, 416, 'range_not_satisfiable');
        assert.equal(answer.headers.get('content-range'), 'bytes */10');
      }
    });

    it('304 for a matching If-None-Match; ignores the range when If-Range differs', async () => {
      const { id } = await upload();
      const etag = (await content(id)).headers.get('etag') ?? '';
      for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
        const answer = await content(id, { 'if-none-match': known, range: 'bytes=0-1' });
        assert.deepEqual([answer.status, answer.text, answer.headers.get('etag')], [304, '', etag]);
      }
      assert.equal((await content(id, { 'if-none-match': '"x"' })).status, 200);
      assert.equal((await content(id, { 'if-range': etag, range: 'bytes=0-1' })).text, CONTENT.slice(0, 2));
      for (const other of ['"x"', 'Wed, 21 Oct 2026 07:28:00 GMT', `W/${etag}`]) {
        assert.equal((await content(id, { 'if-range': other, range: 'bytes=0-1' })).text, CONTENT);
      }
    });

    it('500 when the blob is missing', async () => {
      const { id } = await upload();
      const row = await selectFile(api.db.sql, await findOrganization(api.key), id);
      await api.blobs.delete(row!.blobKey, forever);
      assertError(await content(id), 500, 'server_error');
    });
  });

  describe('DELETE /v1/files/{file_id}', () => {
    it('deletes the file and its bytes', async () => {
      const before = blobsKept();
      const { id } = await upload();
      const answer = await api.send('DELETE', `/v1/files/${id}`);
      assertSchema(DeletedFile, answer.json);
      assert.deepEqual(answer.json, { id, object: 'file', deleted: true });
      for (const [method, rest] of ROUTES) {
        assertError(await api.send(method, `/v1/files/${id}${rest}`), 404, 'file_not_found', 'file_id');
      }
      assert.equal(blobsKept(), before);
    });

    it('409 file_in_use until the last user of the file has ended', async () => {
      const { id } = await upload('batch');
      const organizationId = await findOrganization(api.key);
      const use = (userId: string) => ({ fileId: id, purpose: 'batch', userId, param: 'input_file_id' }) as const;
      const at = new Date();
      for (const userId of ['batch_1', 'batch_2', 'batch_1']) {
        await api.db.sql.transaction((sql) => useFile(sql, organizationId, use(userId), at));
      }
      for (const userId of ['batch_1', 'batch_2']) {
        const answer = await api.send('DELETE', `/v1/files/${id}`);
        assertError(answer, 409, 'file_in_use', 'file_id');
        assert.equal(answer.headers.get('x-should-retry'), 'false');
        await deleteFileUses(api.db.sql, userId);
      }
      assert.equal((await api.send('GET', `/v1/files/${id}/content`)).text, CONTENT);
      assert.equal((await api.send('DELETE', `/v1/files/${id}`)).status, 200);
    });

    it('only one of a concurrent use and deletion succeeds', async () => {
      const organizationId = await findOrganization(api.key);
      for (let round = 0; round < 10; round += 1) {
        const { id } = await upload('batch');
        const use = { fileId: id, purpose: 'batch', userId: newId('request'), param: 'input_file_id' } as const;
        const using = api.db.sql
          .transaction((sql) => useFile(sql, organizationId, use, new Date()))
          .then(
            () => 200,
            (error) => error.status,
          );
        const [used, deleted] = await Promise.all([using, api.send('DELETE', `/v1/files/${id}`)]);
        assert.deepEqual([used, deleted.status].toSorted(), used === 200 ? [200, 409] : [200, 404]);
      }
    });

    it('succeeds when the blob store fails; the sweep deletes the bytes later', async () => {
      const { id } = await upload();
      const before = blobsKept();
      const remove = api.blobs.delete;
      api.blobs.delete = () => Promise.reject(new Error('not now'));
      try {
        assert.equal((await api.send('DELETE', `/v1/files/${id}`)).status, 200);
      } finally {
        api.blobs.delete = remove;
      }
      assert.equal(blobsKept(), before);
      await deleteOrphanedBlobs({ ...deps(), now: () => Date.now() + 3 * 3_600_000 }, 0);
      assert.equal(blobsKept(), before - 1);
    });
  });

  it('can be used only by their organization and for their purpose', async () => {
    const { id } = await upload('fine-tune');
    const own = await findOrganization(api.key);
    const foreign = await findOrganization(await newKey('foreign'));
    const use = { fileId: id, purpose: 'batch', userId: 'batch_x', param: 'config.file_ids.0' } as const;
    const asked = (organizationId: string, more: object = {}) =>
      api.db.sql.transaction((sql) => useFile(sql, organizationId, { ...use, ...more }, new Date()));
    await assert.rejects(asked(foreign), { code: 'file_not_found', param: 'config.file_ids.0' });
    await assert.rejects(asked(own, { fileId: 'nothing' }), { code: 'file_not_found' });
    await assert.rejects(asked(own), { code: 'invalid_value', param: 'config.file_ids.0' });
  });

  it('become processed by the first successful use, a final state; earlier failures set status_details', async () => {
    const { id } = await upload();
    const organizationId = await findOrganization(api.key);
    const status = async () => {
      const { json } = await api.send('GET', `/v1/files/${id}`);
      return [json.status, json.status_details];
    };
    await updateFailed(api.db.sql, organizationId, id, 'There is no text in it.');
    assert.deepEqual(await status(), ['error', 'There is no text in it.']);
    await updateProcessed(api.db.sql, organizationId, [id]);
    assert.deepEqual(await status(), ['processed', null]);
    await updateFailed(api.db.sql, organizationId, id, 'Later.');
    assert.deepEqual(await status(), ['processed', null]);
    await updateProcessed(api.db.sql, 'org_other', [id]);
  });

  it('created by the service are stored like uploads', async () => {
    const content = async function* () {
      yield Buffer.from('{"custom_id":"1"}\n');
    };
    const organizationId = await findOrganization(api.key);
    const file = {
      filename: 'out.jsonl',
      content: content(),
      purpose: () => 'batch' as const,
      expirySeconds: () => null,
    };
    const row = await uploadFile(deps(), { organizationId, keyId: 'key_1' }, file, forever);
    assert.equal((await api.send('GET', `/v1/files/${row.id}/content`)).text, '{"custom_id":"1"}\n');
  });

  it('are deleted with their bytes when they have expired, unless they are in use', async () => {
    const expiring = async (seconds: number, key = api.key) => {
      const parts: Part[] = [
        { name: 'purpose', content: 'batch' },
        { name: 'expires_after[anchor]', content: 'created_at' },
        { name: 'expires_after[seconds]', content: String(seconds) },
        { name: 'file', filename: 'a.jsonl', content: CONTENT },
      ];
      return (await sendForm(`${api.url}/v1/files`, encodeForm(parts), { key })).json;
    };
    const other = await newKey('expiring');
    const before = blobsKept();
    const [hour, day, used, foreign] = await Promise.all(
      [3_600, 86_400, 3_600].map((each) => expiring(each)).concat(expiring(3_600, other)),
    );
    const kept = await upload('batch');
    const organizationId = await findOrganization(api.key);
    const use = { fileId: used.id, purpose: 'batch', userId: 'batch_9', param: 'input_file_id' } as const;
    await api.db.sql.transaction((sql) => useFile(sql, organizationId, use, new Date()));
    const sweep = (atSeconds: number) => deleteExpiredFiles({ ...deps(), now: () => atSeconds * 1_000 }, forever);
    const status = async ({ id }: { id: string }, key = api.key) =>
      (await api.send('GET', `/v1/files/${id}`, { key })).status;
    await sweep(hour.created_at + 3_590);
    assert.deepEqual([await status(hour), await status(foreign, other)], [200, 200]);
    await Promise.all([sweep(hour.expires_at + 10), sweep(hour.expires_at + 10)]);
    assert.deepEqual(
      [await status(hour), await status(foreign, other), await status(day), await status(used), await status(kept)],
      [404, 404, 200, 200, 200],
    );
    assert.equal(blobsKept(), before + 3);
    await deleteFileUses(api.db.sql, 'batch_9');
    await sweep(day.expires_at + 10);
    assert.deepEqual([await status(day), await status(used), await status(kept)], [404, 404, 200]);
  });

  it('the sweep deletes orphaned blobs: immediately with the embedded database, otherwise after two hours', async () => {
    const before = blobsKept();
    const put = async () => {
      const key = newBlobKey();
      await insertOrphanedBlob(api.db.sql, key, new Date());
      await api.blobs.put(
        key,
        (async function* () {
          yield Buffer.from('left');
        })(),
        forever,
      );
      return key;
    };
    for (let at = 0; at < 3; at += 1) await put();
    const later = Date.now() + 1000;
    const withDatabase = (isExclusive: boolean) => ({ ...deps(), db: { ...api.db, isExclusive } });
    // The sweep spares uploads of this process.
    await deleteOrphanedBlobs(withDatabase(true), Date.now() - 60_000);
    await deleteOrphanedBlobs(withDatabase(false), later);
    assert.equal(blobsKept(), before + 3);
    await deleteOrphanedBlobs(withDatabase(true), later);
    assert.equal(blobsKept(), before);
    await put();
    await deleteOrphanedBlobs({ ...withDatabase(false), now: () => Date.now() + 2 * 3_600_000 + 1000 }, 0);
    assert.equal(blobsKept(), before);
    assert.deepEqual(await api.db.sql.select().from(orphanedBlobs), []);
  });

  it('an upload whose blob was swept meanwhile fails', async () => {
    const organizationId = await findOrganization(api.key);
    const content = async function* () {
      yield Buffer.from('slow');
    };
    const put: typeof api.blobs.put = async (...args) => {
      const stored = await api.blobs.put(...args);
      await deleteOrphanedBlobs({ ...deps(), now: () => Date.now() + 3 * 3_600_000 }, 0);
      return stored;
    };
    const file = {
      filename: 'a.txt',
      content: content(),
      purpose: () => 'knowledge-base' as const,
      expirySeconds: () => null,
    };
    await assert.rejects(
      uploadFile({ ...deps(), blobs: { ...api.blobs, put } }, { organizationId, keyId: 'key_1' }, file, forever),
      /deleted as orphaned/,
    );
    assert.deepEqual(await api.db.sql.select().from(orphanedBlobs), []);
  });
});
