import type { Database } from '../../db/db.ts';
import { type DescribedAnswer, describeAnswer } from '../table-queries/describe-answer.ts';
import { type DocumentTable, loadTables } from '../table-queries/load-tables.ts';
import { parseTables } from '../table-queries/parse-tables.ts';
import { queryTable, TableQueryError } from '../table-queries/query-table.ts';
import { readQuestion } from '../table-queries/read-question.ts';
import { type ContextChunk, removeInvisible } from './gather-context.ts';

/** Number of best hits that are searched for a table, and of documents whose tables are loaded. */
const TOP_HITS = 5;
const MAX_DOCUMENTS = 2;
/** Rows that an answer shows. */
const MAX_ROWS = 5;
/** Maximum UTF-8 bytes of an answer, as of the sections that the bundled chat model quotes. */
const MAX_ANSWER_BYTES = 1_400;

/**
 * Answers a question that asks for a value of a table among the best hits, or for one computed over its rows: as a
 * chunk whose text is the answer. All rows of the table are read, not those of the hits alone. Null for all other
 * questions.
 */
export async function answerFromTables(
  db: Pick<Database, 'sql'>,
  chunks: readonly ContextChunk[],
  question: string,
): Promise<ContextChunk | null> {
  const hits = chunks.slice(0, TOP_HITS).filter((chunk) => parseTables([chunk]).length > 0);
  const names = [...new Set(hits.map(({ documentName }) => documentName))].slice(0, MAX_DOCUMENTS);
  for (const name of names) {
    const hit = hits.find(({ documentName }) => documentName === name);
    if (hit === undefined) continue;
    try {
      const ids = new Set(hits.map(({ id }) => id));
      const tables = await loadTables(db.sql, [hit.knowledgeBaseId], name);
      const own = tables.filter(({ rows }) => rows.some(({ chunk }) => ids.has(chunk.id)));
      const answers = own.map((table) => answerFromTable(table, question)).filter((answer) => answer !== null);
      // Two tables that answer may answer differently.
      const [answer] = answers;
      if (answer === undefined || answers.length > 1) continue;
      return { ...toComputedChunk(answer), score: hit.score, scores: hit.scores };
    } catch (error) {
      if (!(error instanceof TableQueryError)) throw error;
    }
  }
  return null;
}

/** The chunk of an answer, with the answer as its text. */
export function toComputedChunk({ chunk, text, cells }: DescribedAnswer): ContextChunk {
  const { updatedAt, ...stored } = chunk;
  const scores = { vector: null, keyword: null, fused: 1, rerank: null };
  return {
    ...stored,
    text: removeInvisible(text),
    storedText: stored.text,
    cells,
    updatedAt: Math.floor(updatedAt.getTime() / 1_000),
    score: 1,
    scores,
  };
}

function answerFromTable(table: DocumentTable, question: string): DescribedAnswer | null {
  const { documentName, headingPath } = table.rows[0]?.chunk ?? { documentName: '', headingPath: [] };
  const query = readQuestion(table, question, [documentName, ...headingPath, table.title].join(' '));
  if (query === null) return null;
  const answer = queryTable(table, query);
  // A value that is looked up is that of one row, or of a few.
  if (query.operation === 'list' && answer.rows.length > MAX_ROWS) return null;
  const fits = (described: DescribedAnswer | null) => Buffer.byteLength(described?.text ?? '') <= MAX_ANSWER_BYTES;
  return [MAX_ROWS, 1].map((rows) => describeAnswer(table, query, answer, rows)).find(fits) ?? null;
}
