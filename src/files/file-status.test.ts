import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { makeDocx, makeZip, wordParagraph } from '../../test/fixtures/documents-docx.ts';
import { makePdf } from '../../test/fixtures/documents-pdf.ts';
import { useApi } from '../../test/harness.ts';
import { type IngestionWorker, startIngestion } from '../knowledge-bases/ingestion/ingestion-worker.ts';
import { CHECK_FILE } from './check-job.ts';
import { updateFailed, updateProcessed } from './store.ts';

const PDF = makePdf([[{ text: 'It opens at nine.', x: 60, y: 700 }]]);
const DOCX = makeDocx(wordParagraph('It opens at nine.'));
const forever = new AbortController().signal;

describe('the status of an uploaded file', () => {
  const api = useApi({ jobs: [CHECK_FILE] });
  let worker: IngestionWorker;
  /** Checks run only while this is open. */
  let gate = Promise.withResolvers<void>();
  const failures: unknown[] = [];
  before(() => {
    gate.resolve();
    worker = startIngestion(api.deps);
    api.deps.jobs.work(CHECK_FILE, async (data, signal) => {
      await gate.promise;
      await worker.checkFile(data, signal).catch((error) => {
        failures.push(error);
        throw error;
      });
    });
  });
  after(() => worker.stop());

  const files = () => new OpenAI({ baseURL: `${api.url}/v1`, apiKey: api.key, maxRetries: 0 }).files;
  const upload = async (name: string, content: string | Uint8Array) => {
    const file = await toFile(Buffer.from(content), name);
    return files().create({ file, purpose: 'knowledge-base' as 'batch' });
  };
  const checked = async (id: string) => {
    const { status, status_details } = await files().waitForProcessing(id, { pollInterval: 10 });
    return [status, status_details];
  };
  const organization = async () => (await api.authenticator.authenticate(`Bearer ${api.key}`)).organizationId;

  it('is uploaded in the reply; text is processed for the next request', async () => {
    for (const name of ['a.txt', 'a.md', 'a.csv', 'a.html', 'a.jsonl']) {
      const { id, status } = await upload(name, '{"text": "It\'s \\"nine\\"."}\n');
      assert.equal(status, 'uploaded');
      assert.equal((await files().retrieve(id)).status, 'processed');
    }
  });

  it('is uploaded until the content has been checked, in the list, too', async () => {
    for (const [name, content] of [
      ['a.pdf', PDF],
      ['a.docx', DOCX],
    ] as const) {
      gate = Promise.withResolvers();
      const { id, status } = await upload(name, content);
      const [listed] = (await api.send('GET', '/v1/files?order=desc&limit=1')).json.data;
      assert.deepEqual([status, (await files().retrieve(id)).status, listed.status], Array(3).fill('uploaded'));
      gate.resolve();
      assert.deepEqual(await checked(id), ['processed', null]);
    }
  });

  const GARBAGE: Record<string, [name: string, content: Uint8Array, details: RegExp]> = {
    'random bytes after the signature of a PDF': [
      'a.pdf',
      Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(40_000)]),
      /damaged or not a PDF/,
    ],
    'nothing after the signature of a PDF': ['a.pdf', Buffer.from('%PDF-1.7\n%%EOF\n'), /damaged or not a PDF/],
    'a PDF without pages': [
      'a.pdf',
      Buffer.from(
        '%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\n',
      ),
      /damaged/,
    ],
    'an archive that ends early': ['a.docx', DOCX.subarray(0, DOCX.length - 30), /./],
    'an archive without a document': ['a.docx', makeZip([{ name: 'word/', content: '' }]), /Word document/],
  };
  for (const [what, [name, content, details]] of Object.entries(GARBAGE)) {
    it(`is error with its reason, never processed: ${what}`, async () => {
      const { id, status } = await upload(name, content);
      assert.equal(status, 'uploaded');
      const [last, reason] = await checked(id);
      assert.equal(last, 'error');
      assert.match(reason ?? '', details);
    });
  }

  it('keeps what the first use of the file has found', async () => {
    for (const use of ['processed', 'error'] as const) {
      gate = Promise.withResolvers();
      const { id } = await upload('a.pdf', use === 'processed' ? '%PDF-1.7 garbage' : PDF);
      if (use === 'processed') await updateProcessed(api.db.sql, await organization(), [id]);
      else await updateFailed(api.db.sql, await organization(), id, 'There is no text in it.');
      gate.resolve();
      await worker.checkFile({ fileId: id, organizationId: await organization() }, forever);
      assert.deepEqual(await checked(id), [use, use === 'error' ? 'There is no text in it.' : null]);
    }
  });

  it('is checked only for its organization, and not after its deletion', async () => {
    gate = Promise.withResolvers();
    const { id } = await upload('a.pdf', PDF);
    await worker.checkFile({ fileId: id, organizationId: 'org_other' }, forever);
    assert.equal((await files().retrieve(id)).status, 'uploaded');
    await files().delete(id);
    gate.resolve();
    await worker.checkFile({ fileId: id, organizationId: await organization() }, forever);
  });

  it('is checked again after an outage of the store', async () => {
    const { read } = api.blobs;
    const down = new Error('the store is down');
    api.blobs.read = async () => {
      api.blobs.read = read;
      throw down;
    };
    const { id } = await upload('a.pdf', PDF);
    assert.deepEqual(await checked(id), ['processed', null]);
    assert.deepEqual(failures, [down]);
  });
});
