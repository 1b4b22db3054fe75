import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makePdfBomb } from '../../../../test/fixtures/documents-pdf.ts';
import type { Extraction } from './extracted-document.ts';
import { Extractor, type ExtractorOptions } from './extractor.ts';

const never = new AbortController().signal;
const SIZE = { chunkSizeTokens: 512 };

/** Reads numbers up to the file's first byte, and does what other files say. */
const SCRIPT = `
  import { parentPort } from 'node:worker_threads';
  let left = 0;
  parentPort.on('message', (request) => {
    if (request.type === 'leave') return parentPort.postMessage({ type: 'end' });
    if (request.type === 'begin') {
      const word = Buffer.from(request.job.content).toString();
      if (word === 'hang') for (;;);
      if (word === 'exit') process.exit(3);
      if (word === 'throw') throw new Error('it broke');
      if (word === 'heap') { const all = []; for (;;) all.push({ more: all.length, list: [all.length] }); }
      if (word === 'buffers') { const all = []; for (;;) if (all.length < 3) all.push(new Uint8Array(80_000_000).fill(1)); }
      left = Number(word);
    }
    left -= 1;
    const document = { text: String(left), blocks: [], title: null, metadata: {} };
    parentPort.postMessage(left < 0 ? { type: 'end' } : { type: 'part', part: String(left), document });
  });
`;
const script = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);

async function* piecesOf(...pieces: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece;
}
const outcome = (extraction: Extraction | undefined) =>
  extraction === undefined ? 'nothing' : 'error' in extraction ? extraction.error.code : extraction.document.text;

describe('an extractor', () => {
  const extractors: Extractor[] = [];
  const start = (options: ExtractorOptions) => {
    const extractor = new Extractor(options);
    extractors.push(extractor);
    return extractor;
  };
  const read = async (extractor: Extractor, content: string, name = 'a.txt') => {
    const file = { name, mediaType: null, content: piecesOf(content) };
    return (await Array.fromAsync(extractor.extract(file, SIZE, never))).map(outcome);
  };
  after(() => Promise.all(extractors.map((extractor) => extractor.close())));

  it('gives the documents of a file one after the other', async () => {
    assert.deepEqual(await read(start({ bounds: { script } }), '3'), ['2', '1', '0']);
  });

  it('fails a document that its thread dies on, and no other', async () => {
    const lost: string[] = [];
    const extractor = start({ bounds: { script }, onLostThread: (reason) => lost.push(reason) });
    assert.deepEqual(await read(extractor, 'exit'), ['invalid_file']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
    assert.deepEqual(await read(extractor, 'throw'), ['invalid_file']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
    assert.deepEqual(lost, ['the thread ended with 3', 'it broke']);
  });

  it('gives up a document that takes too long', async () => {
    const extractor = start({ bounds: { script, seconds: 1 } });
    assert.deepEqual(await read(extractor, 'hang'), ['timeout']);
    assert.deepEqual(await read(start({ bounds: { script } }), '1'), ['0']);
  });

  it('gives up a document that needs too much of the heap, or of buffers outside of it', async () => {
    const extractor = start({ bounds: { script, heapMb: 32, bufferBytes: 200_000_000 } });
    assert.deepEqual(await read(extractor, 'heap'), ['too_large']);
    assert.deepEqual(await read(extractor, 'buffers'), ['too_large']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('gives up a PDF that unpacks without end', async () => {
    const extractor = start({ bounds: { bufferBytes: 150_000_000 } });
    const file = { name: 'a.pdf', mediaType: null, content: piecesOf(makePdfBomb(400_000_000)) };
    assert.deepEqual((await Array.fromAsync(extractor.extract(file, SIZE, never))).map(outcome), ['too_large']);
    assert.deepEqual(await read(extractor, 'text'), ['text']);
  });

  it('leaves a file that nobody wants more of, and reads the next', async () => {
    const extractor = start({ bounds: { script } });
    const file = { name: 'a.txt', mediaType: null, content: piecesOf('5') };
    for await (const extraction of extractor.extract(file, SIZE, never)) {
      assert.equal(outcome(extraction), '4');
      break;
    }
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('ends with the reason of its caller, whether it reads or waits', async () => {
    const extractor = start({ bounds: { script } });
    const controller = new AbortController();
    const texts = ['hang', 'hang'].map((text) => {
      const file = { name: 'a.txt', mediaType: null, content: piecesOf(text) };
      return assert.rejects(Array.fromAsync(extractor.extract(file, SIZE, controller.signal)), /left/);
    });
    setTimeout(() => controller.abort(new Error('left')), 300);
    await Promise.all(texts);
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('throws what the source throws', async () => {
    const content = (async function* () {
      yield Buffer.from('a');
      throw new Error('the source is gone');
    })();
    const file = { name: 'a.txt', mediaType: null, content };
    await assert.rejects(Array.fromAsync(start({}).extract(file, SIZE, never)), /the source is gone/);
  });

  it('says of a format that it does not read it', async () => {
    assert.deepEqual(await read(start({}), 'x', 'a.png'), ['unsupported_file']);
  });

  it('keeps a large file in a temporary one, which is gone afterwards', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quire-test-'));
    const extractor = start({ folder });
    const line = `{"text":"${'long '.repeat(1000)}"}\n`;
    const content = piecesOf(...Array.from({ length: 500 }, () => line));
    const file = { name: 'a.jsonl', mediaType: null, content };
    let documents = 0;
    for await (const extraction of extractor.extract(file, SIZE, never)) {
      assert.ok('document' in extraction);
      assert.equal(extraction.part, String(documents + 1));
      assert.equal(readdirSync(folder).length, 1);
      documents += 1;
    }
    assert.equal(documents, 500);
    assert.deepEqual(readdirSync(folder), []);
    await rm(folder, { recursive: true });
  });

  it('is closed once and for all', async () => {
    const extractor = start({ bounds: { script } });
    const reading = assert.rejects(read(extractor, 'hang'), /closed/);
    await extractor.close();
    await reading;
    await assert.rejects(read(extractor, '1'), /closed/);
    await extractor.close();
  });
});
