import { eq, sql as expression } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { FailedStatement } from '../../db/failed-statement.ts';
import { QUERY_CANCELED } from '../../db/sql-states.ts';
import { chunks, documents } from '../documents/tables.ts';

/** A term of a keyword query. */
export interface KeywordTerm {
  term: string;
  /** Occurrences in the query. */
  count: number;
  /** A chunk that contains none of them does not contain the term. */
  substrings: string[];
}

/** A chunk that may contain terms of a query. */
export interface Match {
  id: string;
  /** For each term, whether the chunk may contain it. */
  flags: boolean[];
}

/** Matches per fetch. */
const PAGE = 1_000;
/** Maximum matches, 20 MB. */
const MAX_MATCHES = 100_000;

/**
 * Scans the chunks of a knowledge base for substrings of terms until `deadline` (Unix milliseconds). `isComplete` is
 * false when chunks were left out. `documentIds`: only chunks of each of these documents. For a chunk of 450
 * characters, a substring takes a microsecond; `to_tsvector` takes 75, so that a million chunks would take a minute.
 */
export async function scanChunks(
  sql: Sql,
  params: { baseId: string; terms: readonly KeywordTerm[]; documentIds: readonly string[]; deadline: number },
): Promise<{ matches: Match[]; isComplete: boolean }> {
  const matches: Match[] = [];
  const scan = sql.transaction(
    async (transaction) => {
      const milliseconds = Math.max(1, Math.round(params.deadline - Date.now()));
      await transaction.execute(expression`select set_config('statement_timeout', ${`${milliseconds}`}, true)`);
      await transaction.execute(expression`declare matches no scroll cursor for ${matchQuery(params)}`);
      while (matches.length < MAX_MATCHES && Date.now() < params.deadline) {
        const { rows } = (await transaction.execute(expression.raw(`fetch ${PAGE} from matches`))) as { rows: Match[] };
        matches.push(...rows);
        if (rows.length < PAGE) return true;
      }
      return false;
    },
    { accessMode: 'read only' },
  );
  const isComplete = await scan.catch((error: unknown) => {
    if (error instanceof FailedStatement && error.code === QUERY_CANCELED) return false;
    throw error;
  });
  return { matches, isComplete };
}

function matchQuery({ baseId, terms, documentIds }: Omit<Parameters<typeof scanChunks>[1], 'deadline'>) {
  const contains = terms.map(({ substrings }) => {
    const positions = substrings.map((substring) => expression`strpos(text collate "C", ${substring}) > 0`);
    return expression`(${expression.join(positions, expression` or `)})`;
  });
  const ofDocuments = documentIds.map((id) => expression` and document_id = ${id}`);
  return expression`
    select id, array[${expression.join(contains, expression`, `)}] as flags from chunks
    where knowledge_base_id = ${baseId}${expression.join(ofDocuments)} and (${expression.join(contains, expression` or `)})`;
}

const TEXT_COLUMNS = {
  chunk: {
    id: chunks.id,
    text: chunks.text,
    page: chunks.page,
    cells: chunks.cells,
    headingPath: chunks.headingPath,
    startIndex: chunks.startIndex,
    endIndex: chunks.endIndex,
  },
  document: {
    id: documents.id,
    name: documents.name,
    sourceType: documents.sourceType,
    metadata: documents.metadata,
    unfilterableKeys: documents.unfilterableKeys,
    language: documents.language,
  },
};

/** Selects chunks with the columns of their documents that the index has, unordered. */
export function selectTexts(sql: Sql, ids: readonly string[]) {
  return sql
    .select(TEXT_COLUMNS)
    .from(chunks)
    .innerJoin(documents, eq(documents.id, chunks.documentId))
    .where(expression`${chunks.id} = any(${expression.param([...ids])}::text[])`);
}
