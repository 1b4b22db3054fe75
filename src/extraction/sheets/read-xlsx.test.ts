import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeXlsx, makeZip } from '../../../test/fixtures/documents-docx.ts';
import type { ExtractedDocument } from '../extracted-document.ts';
import { readDocument } from '../read-document.ts';
import { formatCell } from './number-formats.ts';

const readAll = async (content: Buffer, chunkCharacters = 2000) =>
  Array.fromAsync(readDocument('xlsx', { content, bytes: content.length, charset: null, chunkCharacters }));
const read = async (content: Buffer, chunkCharacters?: number): Promise<ExtractedDocument> => {
  const [part] = await readAll(content, chunkCharacters);
  assert.ok(part !== undefined && 'document' in part);
  return part.document;
};
const row = (number: number, ...cells: string[]) => `<row r="${number}">${cells.join('')}</row>`;
const text = (reference: string, value: string) => `<c r="${reference}" t="inlineStr"><is><t>${value}</t></is></c>`;
const number = (reference: string, value: number | string, style = 0) =>
  `<c r="${reference}" s="${style}"><v>${value}</v></c>`;
const sheet = (rows: string[], merges: string[] = []) =>
  `<sheetData>${rows.join('')}</sheetData><mergeCells>${merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;
/** Rows of texts and numbers by their first cell. */
const table = (column: string, first: number, rows: (string | number)[][]) =>
  rows.map((cells, y) =>
    row(
      first + y,
      ...cells.map((cell, x) => {
        const at = `${String.fromCharCode(column.charCodeAt(0) + x)}${first + y}`;
        return cell === '' ? '' : typeof cell === 'number' ? number(at, cell) : text(at, cell);
      }),
    ),
  );

describe('readXlsx', () => {
  it('reads cells as shown', async () => {
    const styles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="#,##0.00\\ &quot;EUR&quot;"/></numFmts>
      <cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="170"/></cellXfs></styleSheet>`;
    const strings =
      '<sst><si><t>plain</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>reading</t></rPh></si></sst>';
    const cells = [
      '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="D1" t="b"><v>1</v></c><c t="e"><v>#N/A</v></c>',
      number('A2', 45000, 1) + number('B2', 0.1234, 2) + number('C2', 1234.5, 3) + number('D2', '0.30000000000000004'),
      '<c r="A3" t="str"><f>A1&amp;"x"</f><v>result</v></c><c r="B3"><f>1+1</f><v>2</v></c><c r="C3" t="d"><v>2024-02-29T00:00:00</v></c>',
      number('A4', 123456789012345) + number('B4', 'not a number'),
    ];
    const content = makeXlsx(
      { One: sheet(cells.map((xml, i) => row(i + 1, xml))) },
      { 'xl/styles.xml': styles, 'xl/sharedStrings.xml': strings },
    );
    const document = await read(content);
    assert.equal(
      document.text,
      [
        'plain | rich text |  | TRUE | #N/A',
        '2023-03-15 | 12.34% | 1,234.50 EUR | 0.3',
        'result | 2 | 2024-02-29',
        '123456789012345 | not a number',
      ].join('\n'),
    );
    assert.equal(document.title, 'One');
    assert.equal(document.warnings, undefined);
  });

  it('formats dates of both epochs, durations, accounting numbers and text', () => {
    assert.equal(formatCell(43_538, 'yyyy-mm-dd', true), '2023-03-15');
    assert.equal(formatCell(1.5, '[h]:mm', true), '36:00');
    assert.equal(formatCell(-1234.5, '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)'), '(1,234.50)');
    assert.equal(formatCell(-5, 'yyyy-mm-dd'), '-5');
    assert.equal(formatCell(12, '@'), '12');
    assert.equal(formatCell(Number.NaN), null);
  });

  it('joins headers of several rows, repeats merged cells, names the tables', async () => {
    const rows = [
      ...table('B', 2, [
        ['Sales report'],
        ['Region', 'Product', 'First half', '', 'Note'],
        ['', '', '2023', 2024],
        ['North', 'Pump', 1, 2, 'x'],
        ['', 'Valve', 3, 4],
      ]),
      ...table('B', 8, [
        ['South', 'Pump', 5, 6, 'y'],
        ['South', 'Valve', 7, 8, 'z'],
      ]),
    ];
    const merges = ['B2:F2', 'B3:B4', 'C3:C4', 'D3:E3', 'F3:F4', 'B5:B6'];
    const { text: written, blocks } = await read(makeXlsx({ 'Q1 plan': sheet(rows, merges) }));
    assert.deepEqual(
      blocks.map(({ kind, start, end, cells }) => [
        kind,
        written.slice(start, end),
        cells?.column,
        cells?.lastColumn,
        cells?.rows,
      ]),
      [
        ['heading', 'Sales report', 1, 1, [2]],
        [
          'table',
          'Region | Product | First half 2023 | First half 2024 | Note\nNorth | Pump | 1 | 2 | x\nNorth | Valve | 3 | 4',
          1,
          5,
          [3, 5, 6],
        ],
        [
          'table',
          'Region | Product | First half 2023 | First half 2024 | Note\nSouth | Pump | 5 | 6 | y\nSouth | Valve | 7 | 8 | z',
          1,
          5,
          [null, 8, 9],
        ],
      ],
    );
  });

  it('separates tables side by side, but not the columns of one table', async () => {
    const beside = sheet([
      row(1, text('A1', 'item'), text('B1', 'cost'), text('D1', 'day'), text('E1', 'open')),
      row(2, text('A2', 'salmon'), number('B2', 7), text('D2', 'Monday'), text('E2', 'nine')),
      row(3, text('A3', 'trout'), number('B3', 5)),
    ]);
    assert.equal(
      (await read(makeXlsx({ A: beside }))).text,
      'item | cost\nsalmon | 7\ntrout | 5\n\nday | open\nMonday | nine',
    );
    const spaced = sheet([
      row(1, text('A1', 'item'), text('B1', 'cost'), text('D1', 'day'), text('E1', 'open')),
      row(2, text('A2', 'salmon'), number('B2', 7), text('D2', 'Monday'), text('E2', 'nine')),
    ]);
    assert.equal(
      (await read(makeXlsx({ A: spaced }))).text,
      'item | cost |  | day | open\nsalmon | 7 |  | Monday | nine',
    );
  });

  it('reads hidden and equally named sheets, skips charts and blank sheets, keeps properties', async () => {
    const one = sheet(table('A', 1, [['a']]));
    const content = makeXlsx(
      { One: one, Empty: sheet([]), Two: sheet(table('A', 1, [['b']])) },
      { 'docProps/core.xml': '<cp:coreProperties><dc:creator>Ann</dc:creator></cp:coreProperties>' },
    );
    const parts = await readAll(content);
    assert.deepEqual(
      parts.map((part) => 'document' in part && [part.part, part.document.text, part.document.metadata]),
      [
        ['One', 'a', { author: 'Ann' }],
        ['Two', 'b', { author: 'Ann' }],
      ],
    );
  });

  it('warns of formulas without a result', async () => {
    const { warnings } = await read(makeXlsx({ A: sheet([row(1, text('A1', 'sum'), '<c r="B1"><f>1+1</f></c>')]) }));
    assert.deepEqual(
      warnings?.map(({ code }) => code),
      ['text_missing'],
    );
  });

  const wide = (cells: string) => sheet([row(1, cells)]);
  const failures: [string, string, () => Buffer][] = [
    ['without text', 'no_text', () => makeXlsx({ A: sheet([]) })],
    ['that is a Word document', 'invalid_file', () => makeZip([{ name: 'xl/workbook.xml', content: '<document/>' }])],
    ['without a workbook', 'invalid_file', () => makeZip([{ name: 'a.txt', content: 'x' }])],
    ['that is cut off', 'invalid_file', () => makeXlsx({ A: wide(text('A1', 'x')) }).subarray(0, 200)],
    ['of Excel 97 to 2003', 'invalid_file', () => Buffer.from('d0cf11e0a1b11ae100', 'hex')],
    [
      'that needs a password',
      'encrypted_file',
      () =>
        Buffer.concat([
          Buffer.from('d0cf11e0a1b11ae1', 'hex'),
          Buffer.alloc(600),
          Buffer.from('EncryptedPackage', 'utf16le'),
        ]),
    ],
    [
      'that repeats a long string',
      'too_large',
      () =>
        makeXlsx(
          { A: sheet(Array.from({ length: 300 }, (_, i) => row(i + 1, '<c t="s"><v>0</v></c>'))) },
          { 'xl/sharedStrings.xml': `<sst><si><t>${'x'.repeat(50_000)}</t></si></sst>` },
        ),
    ],
    [
      'with far-off cells in many rows',
      'too_large',
      () => makeXlsx({ A: sheet(Array.from({ length: 700 }, (_, i) => row(i + 1, text(`XFD${i + 1}`, 'x')))) }),
    ],
    [
      'with many merged cells',
      'too_large',
      () =>
        makeXlsx({
          A: sheet(
            [row(1, text('A1', 'x')), row(1_048_576, text('B1048576', 'y'))],
            Array.from({ length: 10 }, () => 'A1:A1048576'),
          ),
        }),
    ],
  ];
  for (const [what, code, make] of failures) {
    it(`rejects a workbook ${what} with ${code}`, async () => {
      await assert.rejects(readAll(make()), { code });
    });
  }
});
