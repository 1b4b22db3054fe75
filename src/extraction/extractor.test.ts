import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makePdfBomb } from '../../test/fixtures/documents-pdf.ts';
import { isRunning, until } from '../../test/spawned-service.ts';
import type { Extraction } from './extracted-document.ts';
import { Extractor, type ExtractorOptions } from './extractor.ts';

const never = new AbortController().signal;
const SIZE = { chunkSizeTokens: 512 };

/** Yields as many documents as the number in the file; a file of words fails. */
const module = new URL('../../test/fixtures/breaking-reader.ts', import.meta.url);

async function* piecesOf(...pieces: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece;
}
const outcome = (extraction: Extraction | undefined) =>
  extraction === undefined ? 'nothing' : 'error' in extraction ? extraction.error.code : extraction.document.text;

describe('Extractor', () => {
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

  it('yields the documents of a file in order', async () => {
    assert.deepEqual(await read(start({ limits: { module } }), '3'), ['2', '1', '0']);
  });

  it('fails only the document that crashes the reader process', async () => {
    const lost: string[] = [];
    const extractor = start({ limits: { module }, onReaderCrash: (reason) => lost.push(reason) });
    assert.deepEqual(await read(extractor, 'exit'), ['invalid_file']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
    assert.deepEqual(await read(extractor, 'throw'), ['invalid_file']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
    assert.deepEqual(lost, ['process exited with 3', 'process exited with 1 (RangeError)']);
  });

  it('fails a document above the time limit with timeout', async () => {
    const extractor = start({ limits: { module, seconds: 1 } });
    assert.deepEqual(await read(extractor, 'hang'), ['timeout']);
    assert.deepEqual(await read(start({ limits: { module } }), '1'), ['0']);
  });

  it('fails a document above the heap or buffer limit with too_large', async () => {
    const extractor = start({ limits: { module, heapMb: 32, bufferMb: 100 } });
    assert.deepEqual(await read(extractor, 'heap'), ['too_large']);
    assert.deepEqual(await read(extractor, 'leap'), ['too_large']);
    assert.deepEqual(await read(extractor, 'buffers'), ['too_large']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('reader processes exit when their parent is killed, even while busy', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quire-test-'));
    const told = join(folder, 'pid');
    const parent = spawn(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { Extractor } from ${JSON.stringify(new URL('./extractor.ts', import.meta.url).href)};
       const content = (async function* () { yield Buffer.from(${JSON.stringify(`hang ${told}`)}); })();
       const extractor = new Extractor({ limits: { module: new URL(${JSON.stringify(module.href)}) } });
       const file = { name: 'a.txt', mediaType: null, content };
       for await (const _ of extractor.extract(file, { chunkSizeTokens: 512 }, new AbortController().signal));`,
    ]);
    await until(() => existsSync(told) && readFileSync(told, 'utf8') !== '');
    const reader = Number(readFileSync(told, 'utf8'));
    parent.kill('SIGKILL');
    await until(() => !isRunning(reader));
    await rm(folder, { recursive: true });
  });

  it('fails a decompression bomb in a PDF with too_large', async () => {
    const extractor = start({ limits: { bufferMb: 150, heapMb: 100 } });
    const file = { name: 'a.pdf', mediaType: null, content: piecesOf(makePdfBomb(400_000_000)) };
    assert.deepEqual((await Array.fromAsync(extractor.extract(file, SIZE, never))).map(outcome), ['too_large']);
    assert.deepEqual(await read(extractor, 'text'), ['text']);
  });

  it('reads the next file after the caller stops early', async () => {
    const extractor = start({ limits: { module } });
    const file = { name: 'a.txt', mediaType: null, content: piecesOf('5') };
    for await (const extraction of extractor.extract(file, SIZE, never)) {
      assert.equal(outcome(extraction), '4');
      break;
    }
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('throws the reason of an abort while reading and while waiting for a reader', async () => {
    const extractor = start({ limits: { module } });
    const controller = new AbortController();
    const texts = ['hang', 'hang'].map((text) => {
      const file = { name: 'a.txt', mediaType: null, content: piecesOf(text) };
      return assert.rejects(Array.fromAsync(extractor.extract(file, SIZE, controller.signal)), /left/);
    });
    setTimeout(() => controller.abort(new Error('left')), 300);
    await Promise.all(texts);
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('throws errors of the source', async () => {
    const content = (async function* () {
      yield Buffer.from('a');
      throw new Error('the source is gone');
    })();
    const file = { name: 'a.txt', mediaType: null, content };
    await assert.rejects(Array.fromAsync(start({}).extract(file, SIZE, never)), /the source is gone/);
  });

  it('yields unsupported_file for other formats', async () => {
    assert.deepEqual(await read(start({}), 'x', 'a.gif'), ['unsupported_file']);
  });

  it('spools a large file to disk and removes it afterwards', async () => {
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

  it('close ends extractions in progress and rejects later ones', async () => {
    const extractor = start({ limits: { module } });
    const reading = assert.rejects(read(extractor, 'hang'), /closed/);
    await extractor.close();
    await reading;
    await assert.rejects(read(extractor, '1'), /closed/);
    await extractor.close();
  });
});
