import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column, makePdf, type PdfText } from '../../../test/fixtures/documents-pdf.ts';
import type { ExtractedDocument } from '../extracted-document.ts';
import { readDocument } from '../read-document.ts';
import { collectCompounds, joinLines } from './hyphenation.ts';
import { groupByDirection, mergeFragments } from './page-text.ts';
import { parsePdfDate } from './read-pdf.ts';

const read = async (bytes: Buffer): Promise<ExtractedDocument> => {
  const job = { content: bytes, bytes: bytes.length, charset: null, chunkCharacters: 2000 };
  const [part] = await Array.fromAsync(readDocument('pdf', job));
  assert.ok(part !== undefined && 'document' in part);
  return part.document;
};
const blocksOf = ({ text, blocks }: ExtractedDocument) =>
  blocks.map(({ kind, level, page, start, end }) => `${kind}${level ?? ''} p${page}: ${text.slice(start, end)}`);
const LEFT = [
  'The left column begins here and has',
  'lines that go on over its whole wid-',
  'th, so that a reader goes down it to',
  'its very end before he looks at the',
  'other one, as everybody knows who has',
  'ever read a paper in two columns.',
];
const RIGHT = [
  'What stands on the right comes after',
  'all of that. It has a well-known end:',
  'a word that is broken although it is',
  'one with a hyphen of its own, a well-',
  'known one, keeps its hyphen there and',
  'is read as its author has written it.',
];
const WORDS = ['Ash', 'Birch', 'Cedar', 'Date'];
const text = (pieces: PdfText[]) => pieces;

describe('readPdf', () => {
  it('reads two columns one by one, between full-width blocks', async () => {
    const title = { text: 'A title that goes over both of the columns', x: 60, y: 720, size: 20 };
    const footer = {
      text: 'And a last line below, which goes from the left column to the right one as well.',
      x: 60,
      y: 500,
    };
    // Drawn line by line, as some programs do.
    const rows = column(LEFT, 60, 680).flatMap((line, i) => [line, ...column(RIGHT, 320, 680).slice(i, i + 1)]);
    const document = await read(makePdf([text([title, ...rows, footer])]));
    assert.deepEqual(blocksOf(document), [
      'heading1 p1: A title that goes over both of the columns',
      `paragraph p1: ${LEFT.join(' ').replace('wid- th', 'width')}`,
      `paragraph p1: ${RIGHT.join(' ').replace('well- known', 'well-known')}`,
      'paragraph p1: And a last line below, which goes from the left column to the right one as well.',
    ]);
  });

  it('keeps running headers and footers once, sets page numbers, joins paragraphs across pages', async () => {
    const pages = Array.from({ length: 4 }, (_, i) => [
      { text: `Journal of Made-up Results ${2020 + i}`, x: 60, y: 760 },
      { text: `Page ${i + 1} of 4`, x: 280, y: 30 },
      { text: 'Made-up Press, Tern Bay', x: 60, y: 44 },
      ...column([`${WORDS[i]} has words of its own in this line and`, `another line, ${WORDS[i]}, that goes`], 60, 640),
      ...column(['on here, where it ends. It stays, though it stands low.'], 60, 140),
    ]);
    const document = await read(makePdf(pages));
    assert.ok(document.text.startsWith('Journal of Made-up Results 2020\n'));
    assert.ok(document.text.endsWith('\nMade-up Press, Tern Bay'));
    assert.equal(document.text.match(/Journal|Press/g)?.length, 2);
    assert.ok(!/Page \d of/.test(document.text));
    assert.deepEqual(
      document.blocks.map(({ page }) => page),
      [1, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    );
    assert.equal(document.text.match(/It stays/g)?.length, 4);
  });

  it('includes the values of form fields next to their labels', async () => {
    const label = (name: string, y: number) => ({ text: name, x: 60, y });
    const fields = [
      '/FT /Tx /T (a) /V (Ida Lund) /Rect [110 695 300 711]',
      '/FT /Tx /T (b) /Ff 4096 /V (First line\\nSecond line) /Rect [110 600 300 680] /DA (/F 10 Tf)',
      '/FT /Ch /T (c) /V (x2) /Opt [[(x1) (Quay)] [(x2) (Outer quay)]] /Rect [110 555 300 571]',
      '/FT /Tx /T (d) /Ff 8192 /V (secret) /Rect [110 500 300 516]',
      '/FT /Tx /T (e) /F 2 /V (hidden) /Rect [110 450 300 466]',
    ];
    const form = makePdf([[label('Name', 700), label('Wish', 668), label('Berth', 560)]], { fields });
    const { text: found } = await read(form);
    assert.deepEqual(
      found.split('\n').filter((line) => line !== ''),
      ['Name Ida Lund', 'Wish First line Second line', 'Berth Outer quay'],
    );
  });

  it('keeps the rows of a table together', async () => {
    const rows = ['Name Count Price', 'Apples 12 3.50', 'Pears 7 4.25', 'Plums 100 2.00'];
    const cells = rows.flatMap((row, i) =>
      row.split(' ').map((cell, j) => ({ text: cell, x: 60 + j * 150, y: 600 - i * 14 })),
    );
    const document = await read(makePdf([text([...column(LEFT, 60, 700), ...cells])]));
    assert.equal(
      blocksOf(document).at(-1),
      'table p1: Name | Count | Price\nApples | 12 | 3.50\nPears | 7 | 4.25\nPlums | 100 | 2.00',
    );
  });

  it('detects headings by size, list items by marker, paragraphs by distance', async () => {
    const document = await read(
      makePdf([
        [
          { text: 'Top', x: 60, y: 740, size: 24 },
          { text: 'Below', x: 60, y: 700, size: 16 },
          ...column(LEFT.slice(2), 60, 670),
          ...column(['A second paragraph stands apart from it and has more', 'than one line.'], 60, 600),
          ...column(['1. first thing', '2. second thing'], 70, 560),
        ],
      ]),
    );
    assert.deepEqual(
      blocksOf(document).map((block) => block.slice(0, 30).trim()),
      [
        'heading1 p1: Top',
        'heading2 p1: Below',
        'paragraph p1: th, so that a re',
        'paragraph p1: A second paragra',
        'list-item p1: 1. first thing',
        'list-item p1: 2. second thing',
      ],
    );
  });

  it('detects numbered headings in the body size above their paragraph', async () => {
    const document = await read(makePdf([column(['II. METHODS', ...LEFT, '2.1 Data', ...RIGHT], 60, 700)]));
    assert.deepEqual(
      blocksOf(document).map((block) => block.slice(0, 24).trim()),
      ['heading1 p1: II. METHODS', 'paragraph p1: The left c', 'heading2 p1: 2.1 Data', 'paragraph p1: What stand'],
    );
  });

  it('reads rotated pages and texts', async () => {
    const sideways = await read(makePdf([column(LEFT, 60, 700)], { rotate: 90 }));
    assert.equal(sideways.text, LEFT.join(' ').replace('wid- th', 'width'));
    const margin = { text: 'along the margin', x: 30, y: 300, turn: 90 };
    const document = await read(makePdf([[margin, ...column(LEFT, 60, 700)]]));
    assert.deepEqual(blocksOf(document).at(-1), 'paragraph p1: along the margin');
  });

  it('returns document information as metadata', async () => {
    const info = { Title: 'A report', Author: 'Ann', CreationDate: "D:20240131120000+01'00'" };
    const { title, metadata } = await read(makePdf([column(LEFT, 60, 700)], { info }));
    assert.equal(title, 'A report');
    assert.deepEqual(metadata, { author: 'Ann', created: '2024-01-31T11:00:00.000Z', pages: 1 });
    assert.equal(parsePdfDate('D:2024'), '2024-01-01T00:00:00.000Z');
    assert.equal(parsePdfDate('yesterday'), null);
  });

  it('reads a document with a wrong cross-reference table', async () => {
    const bytes = makePdf([column(LEFT, 60, 700)])
      .toString('latin1')
      .replace(/startxref\n\d+/, 'startxref\n99999');
    assert.match((await read(Buffer.from(bytes, 'latin1'))).text, /^The left column/);
  });

  const failures: [string, string, () => Buffer][] = [
    ['that needs a password', 'encrypted_file', () => makePdf([column(LEFT, 60, 700)], { isEncrypted: true })],
    ['without text', 'no_text', () => makePdf([[], []])],
    ['that is not a PDF', 'invalid_file', () => Buffer.from('%PDF-1.4\nnothing of the kind')],
    ['of too many pages', 'too_large', () => makePdf(Array.from({ length: 5_001 }, () => []))],
  ];
  for (const [what, code, make] of failures) {
    it(`rejects a document ${what} with ${code}`, async () => {
      await assert.rejects(read(make()), { code });
    });
  }
});

describe('mergeFragments', () => {
  const piece = (words: string, x: number, rest: object = {}) => ({
    text: words,
    x,
    y: 100,
    width: words.length * 5,
    size: 10,
    angle: 0,
    isRightToLeft: false,
    ...rest,
  });

  it('joins pieces without a gap, with spaces at small gaps', () => {
    const fragments = mergeFragments([
      piece('big', 68),
      piece('is', 50),
      piece('Th', 39),
      piece('2', 85, { y: 96, size: 6 }),
      piece('far', 200),
    ]);
    assert.deepEqual(
      fragments.map((fragment) => fragment.text),
      ['This big 2', 'far'],
    );
  });

  it('drops duplicates printed for boldness', () => {
    assert.deepEqual(
      mergeFragments([piece('bold', 10), piece('bold', 10.4)]).map((fragment) => fragment.text),
      ['bold'],
    );
  });

  it('orders right-to-left text from the right', () => {
    const rtl = { isRightToLeft: true };
    assert.equal(mergeFragments([piece('שני', 10, rtl), piece('ראשון', 29, rtl)])[0]?.text, 'ראשון שני');
  });

  it('groups pieces by direction', () => {
    const groups = groupByDirection([piece('up', 0, { angle: -90 }), piece('across the page', 10)]);
    assert.deepEqual(
      groups.map((group) => group.map((each) => each.text)),
      [['across the page'], ['up']],
    );
  });
});

describe('joinLines', () => {
  const none: ReadonlySet<string> = new Set();

  it('rejoins hyphenated words, except compounds', () => {
    assert.equal(joinLines(['an exam-', 'ple'], none), 'an example');
    assert.equal(joinLines(['an exam\u00ad', 'ple'], none), 'an example');
    assert.equal(joinLines(['a well-', 'known one'], collectCompounds(['The Well-known'])), 'a well-known one');
    assert.equal(joinLines(['pages 10-', '20'], none), 'pages 10- 20');
    assert.equal(joinLines(['Anglo-', 'Saxon'], none), 'Anglo- Saxon');
  });

  it('takes linear time for long texts', () => {
    assert.equal(
      joinLines(
        Array.from({ length: 30_000 }, () => 'words that go on and on with-'),
        none,
      ).length,
      30_000 * 28 + 1,
    );
  });

  it('adds no space in scripts without spaces', () => {
    assert.equal(joinLines(['吾輩は', '猫である'], none), '吾輩は猫である');
  });
});
