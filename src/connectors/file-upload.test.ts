import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { encodeForm, sendForm } from '../../test/forms.ts';
import { useApi } from '../../test/harness.ts';
import { IngestionError } from '../extraction/ingestion-error.ts';
import { createConnectorStores } from '../knowledge-bases/data-sources/source-config.ts';
import { newId } from '../lib/ids.ts';
import { fileUpload } from './file-upload.ts';
import { GuardedHttp } from './http/guarded-http.ts';

const { signal } = new AbortController();

describe('the connector of uploaded files', () => {
  const api = useApi();
  const upload = async (filename: string, content: string, key = api.key) => {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename, content },
    ];
    return (await sendForm(`${api.url}/v1/files`, encodeForm(parts), { key })).json.id as string;
  };
  const deps = async () => {
    const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
    return {
      ...api.deps,
      organizationId,
      sourceId: 'ds_1',
      ...createConnectorStores(api.db.sql, { sourceId: 'ds_1', jobId: 'job_1' }),
      http: new GuardedHttp(null),
      renderer: null,
    };
  };
  const listed = async (file_ids: string[]) => Array.fromAsync(fileUpload.list(await deps(), { file_ids }, signal));

  it('lists each file with its content for a fingerprint', async () => {
    const [a, b, c] = [await upload('a.txt', 'same'), await upload('b.md', 'same'), await upload('a.txt', 'other')];
    const items = await listed([a, b, c]);
    assert.deepEqual(items.map(({ key, name, uri }) => [key, name, uri]).toSorted(), [
      [a, 'a.txt', a],
      [b, 'b.md', b],
      [c, 'a.txt', c],
    ]);
    const of = (id: string) => items.find(({ key }) => key === id)?.fingerprint;
    assert.equal(of(a), of(b));
    assert.notEqual(of(a), of(c));
  });

  it('lists neither what was deleted nor what another organization has', async () => {
    const { key } = await api.makeKey({ organization: 'foreign' });
    const [kept, gone, foreign] = [
      await upload('a.txt', 'a'),
      await upload('b.txt', 'b'),
      await upload('c.txt', 'c', key),
    ];
    await api.send('DELETE', `/v1/files/${gone}`);
    assert.deepEqual(
      (await listed([gone, foreign, kept])).map((item) => item.key),
      [kept],
    );
  });

  it('lists more files than one statement looks up', async () => {
    const ids = Array.from({ length: 1200 }, () => newId('file'));
    const last = await upload('last.txt', 'x');
    assert.deepEqual(
      (await listed([...ids, last])).map((item) => item.key),
      [last],
    );
  });

  it('fetches the bytes with their name and type', async () => {
    const [item] = await listed([await upload('notes.md', '# Notes')]);
    const content = await fileUpload.fetch(await deps(), { file_ids: [] }, item ?? assert.fail(), signal);
    assert.deepEqual([content.filename, content.mediaType, content.metadata], ['notes.md', 'text/markdown', {}]);
    assert.equal(await text(content.bytes), '# Notes');
  });

  it('fails with file_not_found for a file that was deleted after it was listed, or is of another organization', async () => {
    const { key } = await api.makeKey({ organization: 'foreign' });
    const gone = await upload('a.txt', 'a');
    const [item] = await listed([gone]);
    await api.send('DELETE', `/v1/files/${gone}`);
    const isNotFound = (error: unknown) => error instanceof IngestionError && error.code === 'file_not_found';
    await assert.rejects(fileUpload.fetch(await deps(), { file_ids: [] }, item ?? assert.fail(), signal), isNotFound);
    const foreign = { key: await upload('c.txt', 'c', key), fingerprint: 'f', name: 'c', uri: null };
    await assert.rejects(fileUpload.fetch(await deps(), { file_ids: [] }, foreign, signal), isNotFound);
  });
});
