import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cidFont } from '../../../test/fixtures/cid-fonts.ts';
import { column, makePdf, type PdfOptions, type PdfText } from '../../../test/fixtures/documents-pdf.ts';
import { readDocument } from '../read-document.ts';
import { missingTextWarning, type PageOutcome, pageOutcome } from './missing-text.ts';

const pages = (outcomes: Partial<Record<PageOutcome, number>>): PageOutcome[] =>
  Object.entries(outcomes).flatMap(([outcome, count]) => Array<PageOutcome>(count).fill(outcome as PageOutcome));

describe('pageOutcome', () => {
  it('classifies by characters and by warnings of pdf.js', () => {
    assert.equal(pageOutcome(['A text', ' with \t white space'], ['Warning: TT: undefined function: 21']), 'read');
    assert.equal(pageOutcome(['', ' \n'], []), 'empty');
    assert.equal(pageOutcome(['Nine of te', 'n \ue001'], []), 'unmapped');
    assert.equal(pageOutcome(['Ten letters', ' \u0003'], []), 'read');
    for (const warning of ['loadFont - translateFont failed: "Error"', 'Invalid stream: "FormatError"']) {
      assert.equal(pageOutcome(['A text'], [`Warning: ${warning}`]), 'damaged');
    }
  });
});

describe('missingTextWarning', () => {
  it('warns from a quarter of pages without text, a tenth unmapped, or one damaged', () => {
    for (const outcomes of [{}, { read: 1 }, { read: 4, empty: 1 }, { read: 10, unmapped: 1 }]) {
      assert.equal(missingTextWarning(pages(outcomes)), null);
    }
    assert.deepEqual(missingTextWarning(pages({ read: 3, empty: 1 })), {
      code: 'text_missing',
      message: '1 of 4 pages have no text: they are blank, or images such as scans.',
    });
    assert.equal(
      missingTextWarning(pages({ read: 9, unmapped: 1 }))?.message,
      'Text of 1 of 10 pages is in fonts without a mapping to Unicode.',
    );
    assert.equal(
      missingTextWarning(pages({ read: 99, damaged: 1 }))?.message,
      '1 of 100 pages are damaged; some of their text is missing.',
    );
  });

  const text = column(['Some text of a page'], 60, 700);
  const inFont = (codes: string): PdfText => ({ text: '', codes, font: 0, x: 60, y: 600 });
  const documents: [string, PdfText[][], PdfOptions, RegExp | null][] = [
    ['of which all was read', [text, text], {}, null],
    ['with scans', [text, []], {}, /^1 of 2 pages have no text/],
    [
      'in a font that names glyphs by number only',
      [[inFont('00010002000300040005'), ...text]],
      { fonts: [cidFont({ encoding: 'Identity-H', ordering: 'Identity' })] },
      /^Text of 1 of 1 pages is in fonts/,
    ],
    [
      'in a font with an encoding that nobody has',
      [[inFont('00410042'), ...text], text],
      { fonts: [cidFont({ encoding: 'Made-Up-H', ordering: 'Japan1' })] },
      /^1 of 2 pages are damaged/,
    ],
  ];
  for (const [what, made, options, message] of documents) {
    it(`${message === null ? 'is absent' : 'is present'} for a PDF ${what}`, async () => {
      const content = makePdf(made, options);
      const job = { content, bytes: content.length, charset: null, chunkCharacters: 2000 };
      const [part] = await Array.fromAsync(readDocument('pdf', job));
      assert.ok(part !== undefined && 'document' in part);
      assert.match(part.document.text, /Some text of a page/);
      if (message === null) assert.equal(part.document.warnings, undefined);
      else assert.match(part.document.warnings?.[0]?.message ?? '', message);
    });
  }
});
