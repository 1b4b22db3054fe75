import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makePdfBomb } from '../../../test/fixtures/documents-pdf.ts';
import { isRunning, until } from '../../../test/spawned-service.ts';
import type { Extraction } from './extracted-document.ts';
import { Extractor, type ExtractorOptions } from './extractor.ts';

const never = new AbortController().signal;
const SIZE = { chunkSizeTokens: 512 };

/** Reads numbers up to the file's first byte, and does what other files say. */
const module = new URL('../../../test/fixtures/breaking-reader.ts', import.meta.url);

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
    assert.deepEqual(await read(start({ bounds: { module } }), '3'), ['2', '1', '0']);
  });

  it('fails a document that its reader dies on, and no other', async () => {
    const lost: string[] = [];
    const extractor = start({ bounds: { module }, onLostReader: (reason) => lost.push(reason) });
    assert.deepEqual(await read(extractor, 'exit'), ['invalid_file']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
    assert.deepEqual(await read(extractor, 'throw'), ['invalid_file']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
    assert.deepEqual(lost, ['the process ended with 3', 'the process ended with 1 (RangeError)']);
  });

  it('gives up a document that takes too long', async () => {
    const extractor = start({ bounds: { module, seconds: 1 } });
    assert.deepEqual(await read(extractor, 'hang'), ['timeout']);
    assert.deepEqual(await read(start({ bounds: { module } }), '1'), ['0']);
  });

  it('gives up a document that needs too much of the heap, or of buffers outside of it', async () => {
    const extractor = start({ bounds: { module, heapMb: 32, bufferMb: 100 } });
    assert.deepEqual(await read(extractor, 'heap'), ['too_large']);
    assert.deepEqual(await read(extractor, 'leap'), ['too_large']);
    assert.deepEqual(await read(extractor, 'buffers'), ['too_large']);
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('leaves no reader behind when its process is killed, whatever that reads', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quire-test-'));
    const told = join(folder, 'pid');
    const parent = spawn(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { Extractor } from ${JSON.stringify(new URL('./extractor.ts', import.meta.url).href)};
       const content = (async function* () { yield Buffer.from(${JSON.stringify(`hang ${told}`)}); })();
       const extractor = new Extractor({ bounds: { module: new URL(${JSON.stringify(module.href)}) } });
       const file = { name: 'a.txt', mediaType: null, content };
       for await (const _ of extractor.extract(file, { chunkSizeTokens: 512 }, new AbortController().signal));`,
    ]);
    await until(() => existsSync(told) && readFileSync(told, 'utf8') !== '');
    const reader = Number(readFileSync(told, 'utf8'));
    parent.kill('SIGKILL');
    await until(() => !isRunning(reader));
    await rm(folder, { recursive: true });
  });

  it('gives up a PDF that unpacks without end', async () => {
    const extractor = start({ bounds: { bufferMb: 150, heapMb: 100 } });
    const file = { name: 'a.pdf', mediaType: null, content: piecesOf(makePdfBomb(400_000_000)) };
    assert.deepEqual((await Array.fromAsync(extractor.extract(file, SIZE, never))).map(outcome), ['too_large']);
    assert.deepEqual(await read(extractor, 'text'), ['text']);
  });

  it('leaves a file that nobody wants more of, and reads the next', async () => {
    const extractor = start({ bounds: { module } });
    const file = { name: 'a.txt', mediaType: null, content: piecesOf('5') };
    for await (const extraction of extractor.extract(file, SIZE, never)) {
      assert.equal(outcome(extraction), '4');
      break;
    }
    assert.deepEqual(await read(extractor, '1'), ['0']);
  });

  it('ends with the reason of its caller, whether it reads or waits', async () => {
    const extractor = start({ bounds: { module } });
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
    const extractor = start({ bounds: { module } });
    const reading = assert.rejects(read(extractor, 'hang'), /closed/);
    await extractor.close();
    await reading;
    await assert.rejects(read(extractor, '1'), /closed/);
    await extractor.close();
  });
});
