import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { column, makePdf } from '../../../../test/fixtures/documents-pdf.ts';
import { encodePng, encodeTiff, scanPage, scanPdf } from '../../../../test/fixtures/scans.ts';
import type { ExtractedDocument, Extraction } from '../../extracted-document.ts';
import { Extractor } from '../../extractor.ts';
import type { OcrOptions } from '../../ocr-options.ts';

const OPTIONS: OcrOptions = { engine: 'bundled', languages: null, folder: null, threads: 2 };
const OFFICE = ['The harbour office opens at seven.', 'Visiting boats report on channel 12.'];
const CRANE = ['The crane lifts twenty tons of timber.', 'It stands beside the slipway.'];
const LANTERN = ['Two lanterns burn at night.', 'The keeper trims them every hour.'];

const extractors: Extractor[] = [];
after(() => Promise.all(extractors.map((extractor) => extractor.close())));

function startExtractor(options: Partial<OcrOptions> = {}): Extractor {
  const extractor = new Extractor({ readers: 1, ocr: { ...OPTIONS, ...options } });
  extractors.push(extractor);
  return extractor;
}

async function extract(
  name: string,
  content: Buffer,
  extractor: Extractor,
  onPage?: (read: number, pages: number) => void,
) {
  const file = {
    name,
    mediaType: null,
    content: (async function* () {
      yield content;
    })(),
  };
  const options = { chunkSizeTokens: 500, ...(onPage && { onPage }) };
  const [extraction] = await Array.fromAsync(extractor.extract(file, options, new AbortController().signal));
  return extraction as Extraction;
}

function requireDocument(extraction: Extraction): ExtractedDocument {
  assert.ok('document' in extraction, 'error' in extraction ? extraction.error.message : '');
  return extraction.document;
}

/** Text by page. */
function pages({ text, blocks }: ExtractedDocument): [number | undefined, string][] {
  const byPage = Map.groupBy(blocks, ({ page }) => page);
  const join = (some: typeof blocks) => some.map(({ start, end }) => text.slice(start, end)).join(' ');
  return [...byPage].map(([page, some]) => [page, join(some)]);
}

const warnings = ({ warnings: all = [] }: ExtractedDocument) => all.map(({ code, message }) => `${code}: ${message}`);

describe('OCR', () => {
  const extractor = startExtractor();

  it('reads a PNG', async () => {
    const document = requireDocument(await extract('a.png', encodePng(await scanPage(OFFICE)), extractor));
    assert.equal(document.text, OFFICE.join(' '));
    assert.match(
      warnings(document).join(),
      /^text_recognized: 1 of 1 pages were read by OCR, with a mean confidence of 9\d %\.$/,
    );
  });

  it('reads each page of a TIFF, skewed, on its side and upside down, and reports progress', async () => {
    const scans = [
      await scanPage(OFFICE, { skew: 6 }),
      await scanPage(CRANE, { quarters: 1 }),
      await scanPage(LANTERN, { quarters: 2 }),
      await scanPage(OFFICE, { quarters: 3, dpi: 200 }),
    ];
    const progress: number[][] = [];
    const file = encodeTiff(scans, false);
    const document = requireDocument(await extract('a.tiff', file, extractor, (...read) => progress.push(read)));
    const texts = [OFFICE, CRANE, LANTERN, OFFICE].map((lines, index) => [index + 1, lines.join(' ')]);
    assert.deepEqual(pages(document), texts);
    assert.deepEqual(progress, [
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ]);
    assert.equal(document.metadata['pages'], 4);
    const boxes = document.boxes ?? [];
    // Each line has boxes near to where it was drawn: from 80 of 612 points, and from 280 to 304 above the middle.
    for (const page of [1, 2, 3, 4]) {
      const onPage = boxes.filter((box) => box[2] === page);
      const [left, top] = [3, 4].map((i) => Math.min(...onPage.map((box) => box[i] as number))) as [number, number];
      const [right, bottom] = [5, 6].map((i) => Math.max(...onPage.map((box) => box[i] as number))) as [number, number];
      // Upright, lines begin in the upper left; the page is turned clockwise.
      const start = [
        [left, top],
        [top, 1000 - right],
        [1000 - right, 1000 - bottom],
        [1000 - bottom, left],
      ][page === 1 ? 0 : page - 1];
      assert.ok(start !== undefined && (start[0] ?? 0) > 100 && (start[0] ?? 0) < 200, `page ${page}: ${start}`);
      assert.ok((start[1] ?? 0) > 70 && (start[1] ?? 0) < 160, `page ${page}: ${start}`);
      assert.ok(onPage.every(([from, to]) => document.text.slice(from, to).trim() !== ''));
    }
  });

  it('reads only the pages of a PDF that are scans', async () => {
    const file = scanPdf([
      { scan: await scanPage(OFFICE) },
      { scan: await scanPage(CRANE), text: 'Scanned by a program' },
      { scan: await scanPage(LANTERN), text: `${LANTERN.join(' ')} ${'The keeper lives in the tower. '.repeat(3)}` },
      { scan: await scanPage([]) },
    ]);
    const document = requireDocument(await extract('a.pdf', file, extractor));
    const [first, second, third, ...others] = pages(document);
    assert.deepEqual(first, [1, OFFICE.join(' ')]);
    assert.deepEqual(
      document.boxes?.map(([start, end, page]) => [page, document.text.slice(start, end)]),
      [
        [1, OFFICE[0]],
        [1, OFFICE[1]],
        [2, CRANE[0]],
        [2, CRANE[1]],
        [2, 'Scanned by a program'],
      ],
    );
    assert.deepEqual(second, [2, `${CRANE.join(' ')} Scanned by a program`]);
    assert.match(String(third), /^3,Two lanterns .* lives in the tower\. The keeper lives/);
    assert.deepEqual(others, []);
    assert.match(
      warnings(document).join(),
      /^text_recognized: 2 of 4 pages were read by OCR, with a mean confidence of 9\d %\.$/,
    );
  });

  it('leaves a PDF with text as it is', async () => {
    const file = makePdf([column(['A page with text.'], 60, 700), [{ text: 'Second.', x: 60, y: 700 }]]);
    const document = requireDocument(await extract('a.pdf', file, extractor));
    assert.deepEqual(pages(document), [
      [1, 'A page with text.'],
      [2, 'Second.'],
    ]);
    assert.deepEqual(warnings(document), []);
    assert.ok(!('boxes' in document));
  });

  it('rejects bombs, damaged images, other formats and pages without text', async () => {
    const scan = await scanPage(OFFICE);
    const png = encodePng(scan);
    for (const [name, content, code, message] of [
      ['bomb.png', encodePng(scan, { width: 100_000, height: 90_000 }), 'too_large', /100,000 × 90,000 pixels/],
      ['edge.png', encodePng(scan, { width: 50_000, height: 1_001 }), 'too_large', /the limit is 50,000,000/],
      ['none.png', encodePng(scan, { width: 0, height: 10 }), 'invalid_file', /damaged|no pixels/],
      [
        'half.png',
        png.subarray(0, 2_000),
        'no_text',
        /1 of 1 pages were skipped, such as page 1: the image cannot be decoded/,
      ],
      ['text.png', Buffer.from('text'), 'invalid_file', /not an image/],
      ['animation.webp', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1'), 'invalid_file', /not an image in PNG/],
      ['blank.png', encodePng(await scanPage([])), 'no_text', /OCR read no text/],
      ['blank.pdf', makePdf([[]]), 'no_text', /OCR read none/],
    ] as const) {
      const extraction = await extract(name, content, extractor);
      assert.ok('error' in extraction, name);
      assert.equal(extraction.error.code, code, `${name}: ${extraction.error.message}`);
      assert.match(extraction.error.message, message);
    }
    // The same reader still works.
    assert.equal(requireDocument(await extract('a.png', png, extractor)).text, OFFICE.join(' '));
  });

  it('checks an image without reading it', async () => {
    const scan = await scanPage([]);
    const check = (name: string, content: Buffer) =>
      extractor.check(
        {
          name,
          mediaType: null,
          content: (async function* () {
            yield content;
          })(),
        },
        new AbortController().signal,
      );
    assert.equal(await check('a.png', encodePng(scan)), null);
    assert.equal((await check('a.png', encodePng(scan, { width: 90_000, height: 90_000 })))?.code, 'too_large');
  });

  it('is off by the setting', async () => {
    const off = startExtractor({ engine: 'off' });
    for (const [name, content] of [
      ['a.png', encodePng(await scanPage(OFFICE))],
      ['a.pdf', scanPdf([{ scan: await scanPage(OFFICE) }])],
    ] as const) {
      const extraction = await extract(name, content, off);
      assert.ok('error' in extraction);
      assert.equal(extraction.error.code, 'no_text');
    }
  });

  it('reads with languages of a folder, and names those that are not installed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-ocr-'));
    const eng = new URL(import.meta.resolve('@tesseract.js-data/eng/package.json'));
    const data = execFileSync('gzip', ['-dc', new URL('./4.0.0_best_int/eng.traineddata.gz', eng).pathname], {
      maxBuffer: 2 ** 26,
    });
    writeFileSync(join(folder, 'xyz.traineddata'), data);
    const png = encodePng(await scanPage(OFFICE));
    const document = requireDocument(await extract('a.png', png, startExtractor({ folder, languages: ['xyz'] })));
    assert.equal(document.text, OFFICE.join(' '));
    const extraction = await extract('a.png', png, startExtractor({ folder, languages: ['xyz', 'tlh'] }));
    assert.ok('error' in extraction);
    assert.match(
      `${extraction.error.message} ${extraction.error.cause}`,
      /lacks the languages tlh; installed: eng, xyz/,
    );
    rmSync(folder, { recursive: true });
  });
});
