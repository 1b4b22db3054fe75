import { compareCells, parseNumber } from './cell-values.ts';
import type { StoredTable, TableChunk } from './parse-tables.ts';
import { isTotal, type TableQuery } from './query-table.ts';

/** Words that ask for an operation. */
const OPERATIONS: [TableQuery['operation'], RegExp][] = [
  ['average', /\b(?:on average|average|mean)\b/],
  ['count', /\b(?:how many|number of|count(?: of)?)\b/],
  ['sum', /\b(?:in total|total(?: of)?|sum(?: of)?|altogether|overall|combined)\b/],
  [
    'min',
    /\b(?:lowest|smallest|least|fewest|minimum|minimal|cheapest|shortest|earliest|lightest|youngest|slowest|shallowest|narrowest)\b/,
  ],
  [
    'max',
    /\b(?:highest|largest|greatest|most expensive|most|biggest|maximum|maximal|longest|latest|heaviest|oldest|fastest|deepest|widest|tallest)\b/,
  ],
];
/** Superlatives that name a column. */
const IMPLIED: Record<string, RegExp> = {
  cheapest: /price|fee|cost|charge|rate|tariff/,
  expensive: /price|fee|cost|charge|rate|tariff/,
  shortest: /length|duration|time|minutes|hours|distance/,
  longest: /length|duration|time|minutes|hours|distance/,
  deepest: /depth|draught|draft/,
  shallowest: /depth|draught|draft/,
  heaviest: /weight|mass|tons|kg/,
  lightest: /weight|mass|tons|kg/,
  oldest: /age|year|built|born/,
  youngest: /age|year|built|born/,
  fastest: /speed|knots|time/,
  slowest: /speed|knots|time/,
  earliest: /date|time|day|start|year|departure/,
  latest: /date|time|day|end|year|departure/,
  tallest: /height/,
  widest: /width|beam/,
  narrowest: /width|beam/,
};
/** Adjectives of questions and comparisons, as the nouns that name columns. */
const NOUNS: Record<string, string> = {
  deep: 'depth',
  deeper: 'depth',
  long: 'length',
  longer: 'length',
  shorter: 'length',
  high: 'height',
  wide: 'width',
  wider: 'width',
  heavy: 'weight',
  heavier: 'weight',
  old: 'age',
  older: 'age',
};
const COMPARISON =
  /\b(more than|over|above|(?:great|long|deep|high|wid|heavi|old)er than|at least|less than|under|below|(?:few|short|low|small)er than|at most)\s+((?:\p{Sc}\s?)?\d[\d.,]*)/u;
/** Words that say nothing about the rows. */
const IGNORED = new Set(
  stems(
    'a an the of in on at for from by with to and or is are was were be do does did has have had which what who whose where when how ' +
      'many much it its there that this these those i we you me us our your my all each every per any can could would should will ' +
      'row rows entry entries table list sheet file document column value values one ones please tell show give ' +
      'name named called listed than more most least less amount number count total sum average mean altogether overall combined ' +
      'only just exactly cost costs came come comes go goes get gets lie lies arrive arrived',
  ),
);

/** Rows by which the type of a column is detected. */
const MAX_TYPED_ROWS = 500;

type Filters = NonNullable<TableQuery['filters']>;

/** A column that a question may name. */
interface NamedColumn {
  name: string;
  index: number;
  words: readonly string[];
}

/** What a question says about a table. */
interface Reading {
  kind: TableQuery['operation'];
  filters: Filters;
  isCompared: boolean;
  named: readonly NamedColumn[];
  /** The named columns with numbers. */
  namedNumbers: readonly NamedColumn[];
  /** The column to compute, and the one to look up. */
  target: NamedColumn | null;
  lookup: NamedColumn | null;
}

/**
 * Reads a question about a table as a query: what to compute, in which column, over which rows. Returns null unless
 * the table explains every word of the question: by its columns, cells and `title`, or as part of the operation. A
 * question that is understood in part would be computed over the wrong rows.
 */
export function readQuestion(table: StoredTable<TableChunk>, question: string, title: string): TableQuery | null {
  const text = normalizeText(question);
  const [kind = 'list', pattern] = OPERATIONS.find(([, expression]) => expression.test(text)) ?? [];
  const comparison = COMPARISON.exec(question.toLowerCase());
  const superlative = pattern?.exec(text)?.[0].split(' ').at(-1) ?? '';
  const questionWords = new Set(stems(text));
  const columns = table.columns.map((name, index) => ({ name, index, words: columnWords(name) }));
  const named = columns.filter(({ words }) => words.some((word) => questionWords.has(word)));
  const filters = readFilters(table, text);
  const explained = new Set([
    ...IGNORED,
    ...[title, superlative, comparison?.[0] ?? ''].flatMap(stems),
    ...filters.flatMap(({ value }) => stems(value)),
    ...named.flatMap(({ name }) => stems(name)),
  ]);
  if ([...questionWords].some((word) => !explained.has(word))) return null;
  const numeric = columns.filter(({ index }) => isNumeric(table, index));
  const namedNumbers = named.filter((column) => numeric.includes(column));
  const implied = IMPLIED[superlative] ?? (/\bcosts?\b/.test(text) ? IMPLIED['cheapest'] : undefined);
  const impliedNumbers = numeric.filter(({ name }) => implied?.test(name.toLowerCase()));
  const fitting = [namedNumbers, impliedNumbers, numeric].find((some) => some.length > 0) ?? [];
  const target = bestMatch(fitting, questionWords);
  if (comparison !== null) {
    if (target === null) return null;
    const [, words = '', value = ''] = comparison;
    filters.push({ column: target.name, operator: comparisonOperator(words), value });
  }
  const free = named.filter(({ name }) => filters.every(({ column }) => column !== name));
  const lookup = bestMatch(free, questionWords) ?? bestMatch(impliedNumbers, questionWords);
  return chooseQuery({ kind, filters, isCompared: comparison !== null, named, namedNumbers, target, lookup });
}

/** The query of a reading; null when it leaves out a named column, which is a condition: "berths with power". */
function chooseQuery(reading: Reading): TableQuery | null {
  const query = toQuery(reading);
  const used = [query?.column, ...reading.filters.map(({ column }) => column)];
  return reading.named.every(({ name, index }) => index === 0 || used.includes(name)) ? query : null;
}

function toQuery({ kind, filters, isCompared, named, namedNumbers, target, lookup }: Reading): TableQuery | null {
  const hasFilters = filters.length > 0;
  if (isCompared) return kind === 'count' || kind === 'list' ? { operation: kind, filters } : null;
  if (kind === 'list') return hasFilters && lookup !== null ? { operation: kind, column: lookup.name, filters } : null;
  // The column counts: "How many boats lie at the north quay?" of a column "Boats".
  const isCounted = kind === 'count' && namedNumbers.length > 0 && target !== null;
  if (isCounted) return { operation: hasFilters ? 'list' : 'sum', column: target.name, filters };
  if (kind === 'count') return hasFilters || named.length > 0 ? { operation: kind, filters } : null;
  return target === null ? null : { operation: kind, column: target.name, filters };
}

/** The column that shares the largest part of its words with the question; null where two fit equally. */
function bestMatch<Column extends { words: readonly string[] }>(
  columns: readonly Column[],
  questionWords: ReadonlySet<string>,
): Column | null {
  const score = ({ words }: Column): number =>
    words.filter((word) => questionWords.has(word)).length / Math.max(1, words.length);
  const [first, second] = columns.toSorted((a, b) => score(b) - score(a));
  return first === undefined || (second !== undefined && score(second) === score(first)) ? null : first;
}

/** Cells whose text is in the question, as conditions on their rows: the longest first, one for each column. */
function readFilters(table: StoredTable<TableChunk>, text: string): Filters {
  const filters: Filters = [];
  const names = new Set(table.columns.map(normalizeText));
  for (const [index, column] of table.columns.entries()) {
    const cells = [...new Set(table.rows.filter((row) => !isTotal(row)).map(({ cells: own }) => own[index] ?? ''))];
    const matches = cells.filter((cell) => {
      if (cell.length > 2 * text.length) return false;
      const phrase = normalizeText(cell);
      const isWord =
        (phrase.length >= 3 || /\d/.test(phrase)) &&
        /\p{L}/u.test(phrase) &&
        !IGNORED.has(phrase) &&
        !names.has(phrase);
      return isWord && ` ${text} `.includes(` ${phrase} `);
    });
    const [value] = matches.toSorted((a, b) => b.length - a.length);
    if (value === undefined) continue;
    filters.push({ column, operator: 'equals', value });
  }
  return filters;
}

function comparisonOperator(words: string): Filters[number]['operator'] {
  if (words === 'at least') return 'greater_or_equal';
  if (words === 'at most') return 'less_or_equal';
  return /^(?:less|under|below|fewer|shorter|lower)/.test(words) ? 'less' : 'greater';
}

/** Whether most cells of a column are numbers or dates. */
function isNumeric({ rows }: StoredTable<TableChunk>, column: number): boolean {
  const cells = rows
    .slice(0, MAX_TYPED_ROWS)
    .map(({ cells: own }) => own[column] ?? '')
    .filter((cell) => cell !== '');
  const numbers = cells.filter((cell) => parseNumber(cell) !== null || compareCells(cell, cell) === 0).length;
  return numbers > 0 && numbers * 2 > cells.length;
}

function normalizeText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** Words of a column's name that say something. A single letter is a unit. */
const columnWords = (name: string): string[] => stems(name).filter((word) => word.length > 1 && !IGNORED.has(word));

/** Words without plural endings. */
function stems(text: string): string[] {
  return normalizeText(text)
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => NOUNS[word] ?? word)
    .map((word) => (word.length > 3 ? word.replace(/ies$/, 'y').replace(/(?<=s|x|ch|sh)es$|(?<!s)s$/, '') : word));
}
