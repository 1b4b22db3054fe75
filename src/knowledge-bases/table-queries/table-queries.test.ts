import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareCells, parseDate, parseNumber, usesDecimalComma } from './cell-values.ts';
import { parseTables, type TableChunk } from './parse-tables.ts';
import { queryTable, type TableQuery, TableQueryError } from './query-table.ts';
import { readQuestion } from './read-question.ts';

/** Chunks of a text that begin at the given offsets and overlap by `overlap` characters. */
function cut(text: string, starts: number[], { overlap = 0, cells = [] as (string | null)[] } = {}): TableChunk[] {
  return starts.map((start, i) => {
    const from = Math.max(0, start - (i === 0 ? 0 : overlap));
    const end = starts[i + 1] ?? text.length;
    const own = text.slice(from, end).trimEnd();
    return {
      id: `${i}`,
      text: own,
      startIndex: from,
      endIndex: from + own.length,
      cells: cells[i] ?? null,
      headingPath: [],
    };
  });
}
const whole = (text: string, cells: string | null = null) => parseTables(cut(text, [0], { cells: [cells] }));
const tableIn = (text: string) => {
  const [table] = whole(text);
  assert.ok(table);
  return table;
};

const BERTHS = `Berth | Quay | Length m | Day fee | Power | Free from
A1 | North quay | 8 | 14.00 | yes | 2026-05-01
A2 | North quay | 12 | 19.50 | no | 2026-04-18
B1 | Outer mole | 24 | 1,041.00 | yes | 2026-08-15
C1 | Fish dock |  | 14.00 | no |
Total |  | 44 | 1,088.50 |  |`;

describe('parseTables', () => {
  it('reads rows of extracted text, of Markdown, and of blocks that repeat the header', () => {
    const markdown =
      'Some text.\n\n| Key | Meaning |\n|-----|:-------:|\n| `--all` | a \\| b |\n| `-q` | **quiet** |\n\nMore.';
    assert.deepEqual(
      whole(markdown).map(({ columns, rows }) => [columns, rows.map(({ cells }) => cells)]),
      [
        [
          ['Key', 'Meaning'],
          [
            ['--all', 'a | b'],
            ['-q', 'quiet'],
          ],
        ],
      ],
    );
    const repeated =
      'Item | Count\nRope | 3\nLamp | 4\n\nItem | Count\nAnchor | 1\n\nOther text\n\nItem | Count\nSail | 2\nOar | 8';
    assert.deepEqual(
      whole(repeated).map(({ rows }) => rows.map(({ cells }) => cells[0])),
      [
        ['Rope', 'Lamp', 'Anchor'],
        ['Sail', 'Oar'],
      ],
    );
    const gaps = whole('Key | Day | Night\nA | 1 | 2\n| 3 |\nB |  | 4')[0]?.rows;
    assert.deepEqual(gaps?.[1]?.cells, ['', '3', '']);
    assert.deepEqual(whole('```\na | b\nc | d\ne | f\n```\n\nNo table | here'), []);
  });

  it('joins chunks that overlap or end within a row', () => {
    for (const overlap of [0, 9, 40]) {
      const [first = 0, second = 0] = [BERTHS.indexOf('quay | 12'), BERTHS.indexOf('C1')];
      const [table] = parseTables(cut(BERTHS, [0, first, second], { overlap }));
      assert.deepEqual(
        table?.rows.map(({ cells }) => cells),
        tableIn(BERTHS).rows.map(({ cells }) => cells),
      );
    }
  });

  it('numbers the rows of a sheet, with a repeated header, and none where rows are missing', () => {
    const rows = (text: string, cells: string) => whole(text, cells)[0]?.rows.map(({ number }) => number);
    const text = 'Item | Count\nRope | 3\nLamp | 4';
    assert.deepEqual(rows(text, 'Stock!B4:C6'), [5, 6]);
    assert.deepEqual(rows(text, 'Stock!B15:C16'), [15, 16]);
    assert.deepEqual(rows(text, 'Stock!B4:C9'), [null, null]);
  });
});

describe('cells', () => {
  it('reads numbers with separators, signs, currencies and units, and nothing else', () => {
    const read = (text: string, comma = false) => {
      const number = parseNumber(text, comma);
      return number && [number.value, number.unit];
    };
    assert.deepEqual(
      ['1,234.50', '€ 12', '12 %', '(1,200)', '-3', '8 m', '1’000', 'USD 5'].map((text) => read(text)),
      [
        [1234.5, ''],
        [12, '€'],
        [12, '%'],
        [-1200, ''],
        [-3, ''],
        [8, 'm'],
        [1000, ''],
        [5, 'USD'],
      ],
    );
    assert.deepEqual(read('1.234,50', true), [1234.5, '']);
    assert.deepEqual(
      ['', 'n/a', 'A1', '2026-05-01', '11:40', '12-14', '8 to 12 m', '+47 22 33'].map((text) => read(text)),
      ['', '', '', '', '', '', '', ''].map(() => null),
    );
    assert.deepEqual(
      [['1,5', '12,25'], ['1,234'], ['1.5', '2,75']].map((cells) => usesDecimalComma(cells)),
      [true, false, false],
    );
  });

  it('compares numbers and dates, not texts', () => {
    assert.ok((compareCells('9', '10') ?? 0) < 0);
    assert.ok((compareCells('2026-05-01', '12 April 2026') ?? 0) > 0);
    assert.equal(compareCells('9', 'ten'), null);
    assert.equal(parseDate('May'), null);
  });
});

describe('queryTable', () => {
  const table = tableIn(BERTHS);
  const run = (query: TableQuery) => {
    const { value, rows, groups, skipped } = queryTable(table, query);
    return { value, rows: rows.map(({ cells }) => cells[0]), groups: groups.map(Object.values), skipped };
  };

  it('computes over the rows with a value, without totals', () => {
    assert.deepEqual(run({ operation: 'sum', column: 'Day fee' }), {
      value: '1088.50',
      rows: ['A1', 'A2', 'B1', 'C1'],
      groups: [],
      skipped: 1,
    });
    assert.deepEqual(run({ operation: 'average', column: 'length' }), {
      value: '14.67',
      rows: ['A1', 'A2', 'B1'],
      groups: [],
      skipped: 2,
    });
    assert.deepEqual(run({ operation: 'min', column: 'Day fee' }), {
      value: '14.00',
      rows: ['A1', 'C1'],
      groups: [],
      skipped: 1,
    });
    assert.deepEqual(run({ operation: 'max', column: 'Free from' }).rows, ['B1']);
    assert.equal(run({ operation: 'count' }).value, '4');
  });

  it('adds decimals exactly', () => {
    const cents = tableIn('Item | Price\nA | 0.1\nB | 0.2\nC | 0.3');
    assert.equal(queryTable(cents, { operation: 'sum', column: 'Price' }).value, '0.6');
  });

  it('filters and groups', () => {
    const filters: TableQuery['filters'] = [
      { column: 'power', operator: 'equals', value: 'YES' },
      { column: 'Length m', operator: 'greater', value: '8' },
    ];
    assert.deepEqual(run({ operation: 'list', filters }).rows, ['B1']);
    const at = (operator: 'less' | 'less_or_equal' | 'greater_or_equal' | 'not_equals' | 'contains', value: string) =>
      run({ operation: 'list', filters: [{ column: 'Free from', operator, value }] }).rows;
    assert.deepEqual(at('less', '2026-05-01'), ['A2']);
    assert.deepEqual(at('less_or_equal', '1 May 2026'), ['A1', 'A2']);
    assert.deepEqual(at('greater_or_equal', '2026-05-01'), ['A1', 'B1']);
    assert.deepEqual(at('contains', '-08-'), ['B1']);
    assert.deepEqual(at('not_equals', '2026-05-01').length, 4);
    assert.deepEqual(run({ operation: 'sum', column: 'Day fee', group_by: 'Quay' }).groups, [
      ['Outer mole', '1041.00'],
      ['North quay', '33.50'],
      ['Fish dock', '14.00'],
    ]);
  });

  it('names what is wrong with a query', () => {
    const fails = (query: TableQuery, message: RegExp) =>
      assert.throws(
        () => queryTable(table, query),
        (error) => error instanceof TableQueryError && message.test(error.message),
      );
    fails({ operation: 'sum', column: 'Price' }, /no column 'Price'. Columns: Berth, Quay, Length m/);
    fails({ operation: 'sum' }, /needs a 'column'/);
    fails({ operation: 'sum', column: 'Quay' }, /'Quay' has no numbers/);
    fails({ operation: 'average', column: 'Free from' }, /has dates/);
    fails({ operation: 'list', group_by: 'Quay' }, /other than 'list'/);
    fails(
      { operation: 'list', filters: [{ column: 'Day fee', operator: 'less', value: 'cheap' }] },
      /must be a number or a date/,
    );
    const mixed = tableIn('Way | Length\nA | 3 km\nB | 900 m\nC | 2 km');
    assert.throws(() => queryTable(mixed, { operation: 'max', column: 'Length' }), /mixes units: km, m/);
  });
});

describe('readQuestion', () => {
  const read = (question: string, table = tableIn(BERTHS)) => {
    const query = readQuestion(table, question, 'berths.xlsx Harbour');
    return (
      query && [
        query.operation,
        query.column ?? null,
        ...(query.filters ?? []).map(({ column, operator, value }) => `${column} ${operator} ${value}`),
      ]
    );
  };
  const questions: [string, unknown[]][] = [
    ['Which berth has the lowest day fee?', ['min', 'Day fee']],
    ['What is the cheapest berth at the outer mole?', ['min', 'Day fee', 'Quay equals Outer mole']],
    ['What is the total of the day fees?', ['sum', 'Day fee']],
    ['What is the average length of the berths at the North quay?', ['average', 'Length m', 'Quay equals North quay']],
    ['How many berths are longer than 10 m?', ['count', null, 'Length m greater 10']],
    ['How many berths does the harbour have?', ['count', null]],
    ['What does berth A2 cost?', ['list', 'Day fee', 'Berth equals A2']],
    ['When is B1 free?', ['list', 'Free from', 'Berth equals B1']],
  ];
  for (const [question, query] of questions) it(`reads '${question}'`, () => assert.deepEqual(read(question), query));

  it('leaves questions alone that the table does not explain whole', () => {
    for (const question of [
      'Which berth has the lowest day fee in winter?',
      'How many berths have power?',
      'How many berths are not at the outer mole?',
      'What is the lowest value?',
      'How do I book a berth?',
      'Which item is the most expensive?',
      'Why is the day fee so high?',
    ])
      assert.equal(read(question), null, question);
  });

  it('reads a count that is a column', () => {
    const visitors = tableIn('Month | Yachts | Fishing boats\nMarch | 18 | 52\nApril | 47 | 58\nMay | 96 | 61');
    assert.deepEqual(read('How many yachts came in March?', visitors), ['list', 'Yachts', 'Month equals March']);
    assert.deepEqual(read('How many yachts in total?', visitors), ['sum', 'Yachts']);
    assert.deepEqual(read('What is the average number of yachts?', visitors), ['average', 'Yachts']);
  });
});
