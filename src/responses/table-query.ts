import { type Static, Type } from 'typebox';
import type { FunctionTool } from '../engines/engine.ts';
import { ApiError } from '../errors.ts';
import { parse } from '../http/validation.ts';
import { toComputedChunk } from '../knowledge-bases/grounding/table-answer.ts';
import { type DescribedAnswer, describeAnswer } from '../knowledge-bases/table-queries/describe-answer.ts';
import { type DocumentTable, loadTables } from '../knowledge-bases/table-queries/load-tables.ts';
import { queryTable, TableQuery, TableQueryError } from '../knowledge-bases/table-queries/query-table.ts';
import { parseJson } from '../lib/json.ts';
import { viewComputed, viewSearchResult } from './file-search.ts';
import type { FileSearchItem } from './item-schema.ts';
import type { ResponseDeps } from './parse-call.ts';
import type { PreparedResponse } from './prepare-response.ts';
import { QUERY_TABLE } from './turn-loop.ts';

/** Rows of an answer, the most first, and its characters at most: about 2,000 tokens. */
const MAX_ROWS = [20, 5, 1];
const MAX_ANSWER_CHARACTERS = 8_000;
/** Tables and columns that an error names. */
const MAX_LISTED = 20;

const Arguments = Type.Object(
  {
    document: Type.String({ description: 'Name of the document, as a search shows it.', minLength: 1 }),
    table: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Number of the table, if several have these columns.' }),
    ),
    ...TableQuery.properties,
  },
  { additionalProperties: false },
);

type Arguments = Static<typeof Arguments>;

/** Function definition of the tool. */
export function queryTableTool(): FunctionTool {
  return {
    type: 'function',
    function: {
      name: QUERY_TABLE,
      description:
        'Computes over all rows of a table in a document: counts, sums, averages, lowest and highest values, or the rows that meet conditions. Search first: passages with cells between bars are parts of tables.',
      parameters: { ...Arguments },
    },
  };
}

type QueryOutcome = Pick<FileSearchItem, 'queries' | 'results' | 'status' | 'tool' | 'message'>;

/**
 * Computes the query of a call over a table in the knowledge bases of the search. A query that cannot be computed has
 * no results and a message from which the model can correct it.
 */
export async function runTableQuery(
  deps: ResponseDeps,
  { search }: PreparedResponse,
  callArguments: string,
): Promise<QueryOutcome> {
  const outcome = { queries: [callArguments], status: 'completed' as const, tool: QUERY_TABLE };
  try {
    const request = parse(Arguments, parseJson(callArguments), 'arguments');
    const bases = (search?.bases ?? []).map(({ id }) => id);
    const answer = answerQuery(await loadTables(deps.db.sql, bases, request.document), request);
    return { ...outcome, results: [viewComputed(viewSearchResult(toComputedChunk(answer)))] };
  } catch (error) {
    if (!(error instanceof TableQueryError) && !(error instanceof ApiError && error.status === 400)) throw error;
    return { ...outcome, results: [], message: error.message };
  }
}

function answerQuery(
  tables: readonly DocumentTable[],
  { document, table: number, ...query }: Arguments,
): DescribedAnswer {
  if (tables.length === 0) throw new TableQueryError(`'${document}' has no table.`);
  const chosen = number === undefined ? tables : tables.slice(number - 1, number);
  const answers: {
    table: DocumentTable;
    answer: ReturnType<typeof queryTable<DocumentTable['rows'][number]['chunk']>>;
  }[] = [];
  let failure: TableQueryError | null = null;
  for (const table of chosen) {
    try {
      answers.push({ table, answer: queryTable(table, query) });
    } catch (error) {
      if (!(error instanceof TableQueryError)) throw error;
      failure ??= error;
    }
  }
  const [only] = answers;
  if (only === undefined && chosen.length === 1 && failure !== null) throw failure;
  if (only === undefined) throw new TableQueryError(`No table has these columns. ${listTables(document, tables)}`);
  if (answers.length > 1)
    throw new TableQueryError(
      `Several tables have these columns: choose one by 'table'. ${listTables(document, tables)}`,
    );
  const described = MAX_ROWS.map((rows) => describeAnswer(only.table, query, only.answer, rows));
  const answer = described.find((one) => (one?.text.length ?? 0) <= MAX_ANSWER_CHARACTERS) ?? described.at(-1) ?? null;
  if (answer === null) throw new TableQueryError(`No row meets the filters: 0 of ${only.table.rows.length} rows.`);
  return { ...answer, text: answer.text.slice(0, MAX_ANSWER_CHARACTERS) };
}

function listTables(document: string, tables: readonly DocumentTable[]): string {
  const listed = tables.slice(0, MAX_LISTED).map(({ columns, rows, title }, i) => {
    const place = rows[0]?.chunk.cells ?? title;
    return `${i + 1}${place === '' ? '' : ` (${place})`}: ${columns.slice(0, MAX_LISTED).join(', ')}`;
  });
  return `Tables of '${document}': ${listed.join('; ')}.`;
}
