import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column, makePdf, type PdfText } from '../../../test/fixtures/documents-pdf.ts';
import type { ExtractedDocument } from '../extracted-document.ts';
import { readDocument } from '../read-document.ts';

async function read(pages: PdfText[][], chunkCharacters = 2000): Promise<ExtractedDocument> {
  const content = makePdf(pages);
  const [part] = await Array.fromAsync(
    readDocument('pdf', { content, bytes: content.length, charset: null, chunkCharacters }),
  );
  assert.ok(part !== undefined && 'document' in part);
  return part.document;
}

const tablesIn = ({ text, blocks }: ExtractedDocument): string[] =>
  blocks.filter(({ kind }) => kind === 'table').map(({ start, end, page }) => `p${page}: ${text.slice(start, end)}`);

/** Lines of cells at the given positions; empty cells are not drawn. */
const grid = (rows: readonly (readonly string[])[], places: readonly number[], top: number, pitch = 16): PdfText[] =>
  rows.flatMap((cells, i) =>
    cells.flatMap((text, j) => (text === '' ? [] : [{ text, x: places[j] ?? 0, y: top - i * pitch }])),
  );

const FEES = [
  ['Berth', 'Length', 'Fee', 'Pilot'],
  ['North quay', '40', '310.50', 'yes'],
  ['Outer mole', '', '95.00', ''],
  ['Fish dock', '22', '', 'no'],
];
const PLACES = [60, 160, 230, 300];
const PROSE = 'The harbour master enters every vessel in the book before the tide turns and signs it with his name.';

describe('tables of PDF pages', () => {
  it('keeps empty cells in their columns', async () => {
    assert.deepEqual(tablesIn(await read([grid(FEES, PLACES, 600)])), [
      'p1: Berth | Length | Fee | Pilot\nNorth quay | 40 | 310.50 | yes\nOuter mole |  | 95.00 |\nFish dock | 22 |  | no',
    ]);
  });

  it('joins wrapped cells where rows are further apart than their lines', async () => {
    const lines = (texts: string[], x: number, y: number) => texts.map((text, i) => ({ text, x, y: y - i * 12 }));
    const page = [
      ...grid([['Duty', 'What to do']], [60, 160], 620),
      ...lines(['Harbour', 'master'], 60, 600),
      ...lines(['Enters each vessel in the', 'book before the tide turns'], 160, 600),
      ...lines(['Pilot'], 60, 570),
      ...lines(['Boards outside the mole', 'and takes the helm'], 160, 570),
      ...lines(['Crane driver'], 60, 540),
      ...lines(['Lifts up to twelve tons'], 160, 540),
      ...column([PROSE.slice(0, 80), PROSE.slice(80)], 60, 500),
    ];
    assert.deepEqual(tablesIn(await read([page])), [
      'p1: Duty | What to do\nHarbour master | Enters each vessel in the book before the tide turns\nPilot | Boards outside the mole and takes the helm\nCrane driver | Lifts up to twelve tons',
    ]);
  });

  it('puts a header into the column of values that are aligned differently', async () => {
    const rows = [
      ['Ship', 'Tons', '', 'Crew', ''],
      ...Array.from({ length: 6 }, (_, i) => [`Tern ${i}`, '', `${i}00`, '', `${i}`]),
    ];
    const [table = ''] = tablesIn(await read([grid(rows, [60, 140, 220, 260, 330], 600)]));
    assert.ok(table.startsWith('p1: Ship | Tons | Crew\nTern 0 | 000 | 0\nTern 1 | 100 | 1'), table);
  });

  it('repeats the header in every block, and on the next page', async () => {
    const rows = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => [`Berth ${from + i}`, `${from + i}0`, `${i}.50`, 'yes']);
    const header = FEES[0] ?? [];
    const first = [...column([PROSE], 60, 720), ...grid([header, ...rows(1, 6)], PLACES, 690)];
    const second = [...grid([header, ...rows(7, 4)], PLACES, 640), ...column([PROSE], 60, 500)];
    const tables = tablesIn(await read([first, second], 110));
    assert.ok(tables.length >= 4);
    assert.ok(tables.every((table) => /^p\d: Berth \| Length \| Fee \| Pilot\nBerth \d/.test(table)));
    const text = tables.join('\n');
    for (let berth = 1; berth <= 10; berth++) assert.equal(text.split(`Berth ${berth} | ${berth}0 |`).length, 2);
    const continued = await read([first, grid(rows(7, 4), PLACES, 640)]);
    assert.match(tablesIn(continued)[1] ?? '', /^p2: Berth \| Length \| Fee \| Pilot\nBerth 7 \| 70/);
  });

  it('finds a table in one of two columns of text', async () => {
    const text = (x: number, count: number, top: number) =>
      column(
        Array.from({ length: count }, (_, i) => PROSE.slice((i * 7) % 40, ((i * 7) % 40) + 44)),
        x,
        top,
      );
    const page = [...text(50, 40, 720), ...text(320, 12, 720), ...grid(FEES, [320, 400, 450, 510], 560, 12)];
    const document = await read([page]);
    assert.deepEqual(
      tablesIn(document).map((table) => table.split('\n')[1]),
      ['North quay | 40 | 310.50 | yes'],
    );
  });

  const others: [string, PdfText[]][] = [
    [
      'two columns of text',
      [60, 320].flatMap((x) =>
        column(
          Array.from({ length: 9 }, (_, i) => PROSE.slice(i * 5, i * 5 + 42)),
          x,
          700,
        ),
      ),
    ],
    [
      'three columns of text',
      grid(
        Array.from({ length: 9 }, (_, i) =>
          ['Vessels that wait outside', 'Masters of barges report', 'Pilots board at the mole'].map(
            (text) => `${text} ${i}`,
          ),
        ),
        [60, 230, 400],
        700,
        12,
      ),
    ],
    [
      'a table of contents',
      grid(
        Array.from({ length: 8 }, (_, i) => [`${i + 1} The harbour of Tern Bay`, `${i * 3 + 1}`]),
        [60, 400],
        700,
      ),
    ],
    [
      'dot leaders',
      grid(
        Array.from({ length: 8 }, (_, i) => [`Chapter on tides . . . . . . .`, `${9 - i}`]),
        [60, 400],
        700,
      ),
    ],
    [
      'a numbered list',
      grid(
        Array.from({ length: 8 }, (_, i) => [`${i + 1}.`, 'Cast off the lines']),
        [60, 100],
        700,
      ),
    ],
    [
      'code with comments',
      grid(
        Array.from({ length: 8 }, (_, i) => [`berth = free(${i});`, `// Berth ${i}`]),
        [60, 300],
        700,
      ),
    ],
    ['two rows', grid(FEES.slice(0, 2), PLACES, 700)],
  ];
  for (const [name, page] of others) {
    it(`finds no table in ${name}`, async () => {
      assert.deepEqual(tablesIn(await read([page])), []);
    });
  }
});
