import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { makePdf } from '../../../test/fixtures/documents-pdf.ts';
import { encodePng, encodeTiff, scanPage, scanPdf } from '../../../test/fixtures/scans.ts';
import { encodeForm, sendForm } from '../../../test/forms.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import type { TextBox } from '../../extraction/extracted-document.ts';
import { CHECK_FILE } from '../../files/check-job.ts';
import { newId } from '../../lib/ids.ts';
import { chunks, documents } from '../documents/tables.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { joinChunks } from './show-page.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE, CHECK_FILE] });
const BASES = '/v1/knowledge-bases';
const UNKNOWN = '01kaj3v0b8s4x2m6n9p1q5r7t3';
const LINES = ['The library in Ashford opens at nine on Saturdays.', 'The ferry to Skelby leaves at noon.'];
const CONTENT = makePdf([[{ text: LINES[0] ?? '', x: 72, y: 700 }], [{ text: LINES[1] ?? '', x: 72, y: 700 }]]);
const TEXT = LINES.join('\n\n');

let base: string;
let source: string;
let file: string;
let document: string;
const chunkIds: string[] = [];

const upload = async (filename: string, content: Buffer): Promise<string> => {
  const form = encodeForm([
    { name: 'purpose', content: 'knowledge-base' },
    { name: 'file', filename, content },
  ]);
  return (await sendForm(`${api.url}/v1/files`, form, { key: api.key })).json.id;
};
const addSource = async (body: object): Promise<string> =>
  (await api.send('POST', `${BASES}/${base}/data-sources`, { body })).json.id;

/** A document as ingestion writes it. */
async function addDocument(
  fields: Partial<typeof documents.$inferInsert>,
  texts: readonly string[] = [],
  boxes: readonly TextBox[] = [],
) {
  const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
  const id = newId('document');
  const at = new Date(1_763_683_200_000);
  await api.db.sql.insert(documents).values({
    ...{ id, knowledgeBaseId: base, dataSourceId: source, organizationId, itemKey: file, part: '', fingerprint: 'f' },
    ...{ seenBy: 'job', name: 'Handbook', sourceType: 'file_upload', sourceUri: file, mimeType: 'application/pdf' },
    ...{ bytes: CONTENT.length, contentHash: 'ab', chunkCount: texts.length, status: 'completed', metadata: {} },
    ...{ language: 'en', createdAt: at, updatedAt: at },
    ...fields,
  });
  let startIndex = 0;
  for (const [position, text] of texts.entries()) {
    const chunkId = newId('chunk');
    chunkIds.push(chunkId);
    await api.db.sql.insert(chunks).values({
      ...{ id: chunkId, documentId: id, knowledgeBaseId: base, position, text, tokens: 9, startIndex },
      ...{ endIndex: startIndex + text.length, page: position + 1, headingPath: [] },
      boxes: boxes.length === 0 ? null : [...boxes],
    });
    startIndex += text.length + 2;
  }
  return id;
}

const get = async (
  page: string | number,
  query = '',
  { id = document, key = api.key as string | null, headers = {} } = {},
) => {
  const response = await fetch(`${api.url}${BASES}/${base}/documents/${id}/pages/${page}?${query}`, {
    headers: { ...headers, ...(key !== null && { authorization: `Bearer ${key}` }) },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text: bytes.toString('utf8'),
    json: isJson ? JSON.parse(bytes.toString()) : null,
    bytes,
    width: bytes.length > 24 ? bytes.readUInt32BE(16) : 0,
    isMarked: response.headers.get('x-passage-marked'),
  };
};

describe('GET /v1/knowledge-bases/{kb_id}/documents/{document_id}/pages/{page}', () => {
  before(async () => {
    base = (await api.send('POST', BASES, { body: { name: 'Base' } })).json.id;
    file = await upload('handbook.pdf', CONTENT);
    source = await addSource({ type: 'file_upload', config: { file_ids: [file] } });
    document = await addDocument({}, LINES);
  });

  it('renders the page in the requested width', async () => {
    const page = await get(1);
    assert.deepEqual([page.status, page.headers.get('content-type'), page.width], [200, 'image/png', 1000]);
    assert.equal(page.headers.get('cache-control'), 'private, no-cache');
    assert.equal(page.isMarked, null);
    assert.deepEqual([(await get(2, 'width=100')).width, (await get(2, 'width=2000')).width], [100, 2000]);
  });

  it('marks a chunk, or a range of the text, on its page only', async () => {
    const plain = await get(2);
    const chunk = await get(2, `chunk_id=${chunkIds[1]}`);
    assert.deepEqual([chunk.status, chunk.isMarked, chunk.bytes.equals(plain.bytes)], [200, 'true', false]);
    const start = TEXT.indexOf('ferry');
    const range = await get(2, `start=${start}&end=${TEXT.length}`);
    assert.deepEqual([range.isMarked, range.bytes.equals(chunk.bytes)], ['true', false], 'without the first word');
    const elsewhere = await get(1, `chunk_id=${chunkIds[1]}`);
    assert.deepEqual([elsewhere.status, elsewhere.isMarked], [200, 'false']);
    assert.equal((await get(1, 'start=90000&end=90001')).isMarked, 'false', 'after the end of the text');
  });

  it('answers 304 to a client that has the image, which another mark changes', async () => {
    const etag = (await get(1)).headers.get('etag') ?? '';
    const again = await get(1, '', { headers: { 'if-none-match': etag } });
    assert.deepEqual([again.status, again.bytes.length, again.headers.get('etag')], [304, 0, etag]);
    for (const query of [`chunk_id=${chunkIds[0]}`, 'start=0&end=9', 'width=999']) {
      assert.equal((await get(1, query, { headers: { 'if-none-match': etag } })).status, 200, query);
    }
    assert.equal((await get(2, '', { headers: { 'if-none-match': etag } })).status, 200);
  });

  it('404 for a page, document, chunk or file that does not exist', async () => {
    assertError(await get(3), 404, 'page_not_found', 'page');
    assertError(await get(1, '', { id: `doc_${UNKNOWN}` }), 404, 'document_not_found', 'document_id');
    assertError(await get(1, `chunk_id=chunk_${UNKNOWN}`), 404, 'chunk_not_found', 'chunk_id');
    const other = await addDocument({ itemKey: `file-${UNKNOWN}` }, ['Another document.']);
    assertError(await get(1, `chunk_id=${chunkIds.at(-1)}`), 404, 'chunk_not_found', 'chunk_id');
    assertError(await get(1, '', { id: other }), 404, 'file_not_found', 'document_id');
  });

  it("404 for another organization's document, 401 without a key, 403 without the scope", async () => {
    const { key } = await api.makeKey({ organization: 'other' });
    assertError(await get(1, '', { key }), 404, 'knowledge_base_not_found', 'kb_id');
    assertError(await get(1, '', { key: null }), 401, 'invalid_api_key', null);
    const { key: narrow } = await api.makeKey({ scopes: ['inference'] });
    assertError(await get(1, '', { key: narrow }), 403, 'insufficient_scope', null);
  });

  it('400 for pages, widths and offsets out of range, naming the parameter', async () => {
    for (const page of ['0', '-1', '1.5', 'one', '5001']) assertError(await get(page), 400, 'invalid_value', 'page');
    for (const width of ['99', '2001', 'wide'])
      assertError(await get(1, `width=${width}`), 400, 'invalid_value', 'width');
    assertError(await get(1, 'start=-1&end=1'), 400, 'invalid_value', 'start');
    assertError(await get(1, 'start=5'), 400, 'missing_required_field', 'end');
    assertError(await get(1, 'end=5'), 400, 'missing_required_field', 'start');
    for (const end of [5, 20_006]) assertError(await get(1, `start=5&end=${end}`), 400, 'invalid_value', 'end');
    assert.equal((await get(1, 'start=5&end=20005')).status, 200);
    assertError(await get(1, `start=0&end=5&chunk_id=${chunkIds[0]}`), 400, 'invalid_value', 'chunk_id');
  });

  it('400 for formats without pages, parts of files and sources of which files cannot be fetched', async () => {
    const text = await addDocument({ mimeType: 'text/markdown', part: 'x1' });
    const answer = await get(1, '', { id: text });
    assertError(answer, 400, 'invalid_value', 'document_id');
    assert.match(answer.json.error.message, /PDF documents and images have them/);
    const line = await addDocument({ part: '7' });
    assertError(await get(1, '', { id: line }), 400, 'invalid_value', 'document_id');
    const config = { credentials: { integration_token: 'secret' } };
    const dataSourceId = await addSource({ type: 'notion', config });
    const attachment = await addDocument({ dataSourceId, itemKey: 'page' });
    assertError(await get(1, '', { id: attachment }), 400, 'invalid_value', 'document_id');
  });

  it('renders images, and marks text that OCR read by its boxes', async () => {
    const scans = [await scanPage(LINES), await scanPage(LINES.toReversed())];
    const [first = '', second = ''] = LINES;
    const boxes: TextBox[] = [
      [0, first.length, 1, 100, 100, 400, 120],
      [first.length + 2, TEXT.length, 2, 100, 140, 400, 160],
    ];
    for (const [name, mimeType, content, pages] of [
      ['scan.png', 'image/png', encodePng(scans[0] ?? assert.fail()), 1],
      ['scan.tiff', 'image/tiff', encodeTiff(scans), 2],
      ['scan.pdf', 'application/pdf', scanPdf(scans.map((scan) => ({ scan }))), 2],
    ] as const) {
      const id = await addDocument({ itemKey: await upload(name, content), mimeType }, LINES, boxes);
      const [chunkId] = chunkIds.slice(-2);
      const plain = await get(1, 'width=400', { id });
      assert.deepEqual([plain.status, plain.width, plain.isMarked], [200, 400, null], name);
      const marked = await get(1, `width=400&chunk_id=${chunkId}`, { id });
      assert.deepEqual([marked.isMarked, marked.bytes.equals(plain.bytes)], ['true', false], name);
      const range = await get(1, `width=400&start=4&end=${first.length}`, { id });
      assert.deepEqual([range.isMarked, range.bytes.equals(marked.bytes)], ['true', true], name);
      const query = `start=${TEXT.indexOf(second)}&end=${TEXT.length}`;
      assert.equal((await get(1, query, { id })).isMarked, 'false', name);
      if (pages === 2) assert.equal((await get(2, query, { id })).isMarked, 'true', name);
      assertError(await get(pages + 1, '', { id }), 404, 'page_not_found', 'page');
    }
  });

  it('does not enlarge an image, and answers 304 only for the same boxes', async () => {
    const itemKey = await upload('scan.png', encodePng(await scanPage(LINES, { dpi: 50 })));
    const id = await addDocument({ itemKey, mimeType: 'image/png' }, [TEXT], [[0, 9, 1, 0, 0, 9, 9]]);
    const chunkId = chunkIds.at(-1) ?? '';
    const page = await get(1, `width=2000&chunk_id=${chunkId}`, { id });
    assert.equal(page.width, 425);
    const again = () =>
      get(1, `width=2000&chunk_id=${chunkId}`, { id, headers: { 'if-none-match': page.headers.get('etag') ?? '' } });
    assert.equal((await again()).status, 304);
    await api.db.sql
      .update(chunks)
      .set({ boxes: [[0, 9, 1, 0, 0, 9, 10]] })
      .where(eq(chunks.id, chunkId));
    assert.equal((await again()).status, 200);
  });

  it('400 for a file that cannot be rendered', async () => {
    const half = await upload('half.png', encodePng(await scanPage(LINES)).subarray(0, 2_000));
    const image = await get(1, '', { id: await addDocument({ itemKey: half, mimeType: 'image/png' }) });
    assertError(image, 400, 'invalid_value', 'document_id');
    const damaged = await upload('damaged.pdf', Buffer.from(`%PDF-1.4\n${'damaged '.repeat(100)}`));
    const id = await addDocument({ itemKey: damaged });
    const answer = await get(1, '', { id });
    assertError(answer, 400, 'invalid_value', 'document_id');
    assert.match(answer.json.error.message, /cannot be rendered/);
  });
});

describe('joinChunks', () => {
  const overlapping = [
    { text: 'one two', startIndex: 0 },
    { text: 'two three', startIndex: 4 },
    { text: 'four', startIndex: 15 },
  ];

  it('repeats no overlap, and separates chunks by a space', () => {
    assert.equal(joinChunks(overlapping, 0, 99), 'one two three four');
    assert.equal(joinChunks(overlapping, 5, 10), 'wo th');
    assert.equal(joinChunks(overlapping, 14, 17), ' fo');
    assert.equal(joinChunks([], 0, 5), '');
  });
});
