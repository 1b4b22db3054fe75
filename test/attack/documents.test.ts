/** Hostile documents in a real extraction process: each ends in time, keeps its text, and leaves the process usable. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Extractor } from '../../src/extraction/extractor.ts';
import { makePdf } from '../fixtures/documents-pdf.ts';
import { scaled } from './scale.ts';

/** Seconds per document. Each takes less than 5 on two idle cores; the rest is margin for shared machines. */
const DOCUMENT_SECONDS = 30;

const extractor = new Extractor();
after(() => extractor.close());

/** Extracts a file and returns its text. Fails when it takes too long or extraction fails. */
async function readInTime(name: string, content: string | Uint8Array): Promise<string> {
  const started = performance.now();
  const file = { name, mediaType: null, content: pieces(Buffer.from(content)) };
  const signal = AbortSignal.timeout(DOCUMENT_SECONDS * 1000);
  const [part] = await Array.fromAsync(extractor.extract(file, { chunkSizeTokens: 512 }, signal));
  assert.ok(part !== undefined && 'document' in part, part && 'error' in part ? part.error.message : 'no document');
  const seconds = (performance.now() - started) / 1000;
  assert.ok(seconds < DOCUMENT_SECONDS, `${seconds.toFixed(1)} s`);
  return part.document.text;
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

describe('deeply nested HTML', () => {
  const elements: [string, number][] = [
    ['<div>', 200_000],
    ['<div>word ', 200_000],
    ['<span>', 200_000],
    ['<p><b>word ', 100_000],
    ['<ul><li>item ', 100_000],
    ['<ul><li>item ', 5_000],
    ['<ol><li>item ', 5_000],
    ['<blockquote>word ', 5_000],
    ['<table><tr><td>cell ', 5_000],
    ['<table><tr><td>cell ', 50_000],
    ['<b><i>', 50_000],
    ['<html><body><head>', 50_000],
    ['<aside><p>word ', 50_000],
    ['<dl><dd>', 50_000],
  ];
  for (const [start, count] of elements) {
    it(`of ${count.toLocaleString('en')} ${start.trim()} keeps its text`, async () => {
      const many = scaled(count, Math.min(count, 20_000));
      const ends = (start.match(/\w+(?=>)/g) ?? []).toReversed().map((name) => `</${name}>`);
      assert.match(await readInTime('page.html', `${start.repeat(many)}walrus`), /walrus/);
      assert.match(await readInTime('page.html', `${start.repeat(many)}walrus${ends.join('').repeat(many)}`), /walrus/);
    });
  }

  it('of many elements below 100 levels is extracted completely', async () => {
    const tables = '<table><tr><td>a<td>b</table>'.repeat(scaled(20_000, 6_000));
    assert.match(await readInTime('page.html', `${'<div>'.repeat(100)}${tables}walrus`), /walrus/);
  });
});

describe('hostile Markdown', () => {
  const units: [string, string][] = [
    ['paragraphs of one letter', 'a\n\n'],
    ['lines of one letter', 'a\n'],
    ['items of one letter', '- a\n'],
    ['items of nothing', '-\n'],
    ['definitions', '[a]: b\n'],
    ['blank lines', ' \n'],
    ['inline HTML', '<b><i>'],
    ['lines of HTML', '<b>x\n'],
    ['brackets', '['],
    ['emphasis', '*a_ '],
    ['fences', '```\n'],
    ['cells', '|a'],
    ...[2, 8, 31, 99].flatMap((depth): [string, string][] => [
      [`${depth} quotes a paragraph`, `${'>'.repeat(depth)} word\n\n`],
      [`${depth} quotes a line`, `${'>'.repeat(depth)} word\n`],
      [`${depth} lists a line`, `${'- '.repeat(depth)}word\n`],
      [`${depth} quotes and lists a line`, `${'>- '.repeat(depth)}word\n`],
      [`${depth} numbers a line`, `${'1. '.repeat(depth)}word\n`],
    ]),
  ];
  const characters = scaled(200_000, 25_000);
  for (const [what, unit] of units) {
    it(`of ${what} keeps its text`, async () => {
      const text = `${unit.repeat(characters / unit.length)}walrus`;
      assert.equal(await readInTime('page.md', text), text);
    });
  }

  it('of ever deeper lists keeps its text', async () => {
    const text = Array.from({ length: scaled(1_000, 300) }, (_, depth) => `${'  '.repeat(depth)}- word`).join('\n');
    assert.equal(await readInTime('page.md', text), text);
  });
});

describe('a PDF', () => {
  const count = scaled(100_000, 20_000);
  const pages: [string, (i: number) => { x: number; y: number; size: number }][] = [
    ['in one row', (i) => ({ x: i * 20, y: 700, size: 5 })],
    ['in one row of many sizes', (i) => ({ x: i * 20, y: 700, size: 1 + (i % 97) })],
    ['in one place', () => ({ x: 60, y: 700, size: 10 })],
    ['in 40 columns', (i) => ({ x: (i % 40) * 200, y: 700 - Math.floor(i / 40) * 11 - (i % 40) * 3, size: 10 })],
    ['in ever larger letters', (i) => ({ x: 60, y: 700 - i, size: 1 + i / 1_000 })],
  ];
  for (const [what, place] of pages) {
    it(`of ${count.toLocaleString('en')} texts ${what} is read`, async () => {
      const texts = Array.from({ length: count }, (_, i) => ({
        text: i === 0 ? 'walrus' : 'words of text',
        ...place(i),
      }));
      assert.match(await readInTime('page.pdf', makePdf([texts])), /walrus/);
    });
  }
});

describe('after these documents, the extraction process', () => {
  it('extracts an ordinary page', async () => {
    assert.equal(await readInTime('page.html', '<p>An ordinary page.</p>'), 'An ordinary page.');
  });
});
