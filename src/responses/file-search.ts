import type { FunctionTool } from '../engines/engine.ts';
import { modelContextTokens } from '../engines/registry.ts';
import { ApiError } from '../errors.ts';
import { uploadedFileId, viewChunkText, viewCitedChunk } from '../knowledge-bases/grounding/cite.ts';
import { documentBudget } from '../knowledge-bases/grounding/document-budget.ts';
import { type FitToBudget, fitTokenBudget } from '../knowledge-bases/grounding/fit-token-budget.ts';
import { CONTEXT_SEARCH, type ContextChunk, gatherContext } from '../knowledge-bases/grounding/gather-context.ts';
import { type JoinableChunk, modifiedAt } from '../knowledge-bases/grounding/prompt-documents.ts';
import { answerFromTables } from '../knowledge-bases/grounding/table-answer.ts';
import { isRecord, parseJson } from '../lib/json.ts';
import type { FileSearchItem, SearchResult } from './item-schema.ts';
import type { ResponseDeps } from './parse-call.ts';
import type { PreparedResponse } from './prepare-response.ts';
import { FILE_SEARCH } from './turn-loop.ts';

/** Characters of a query that a small model repeats. */
const MAX_FORCED_QUERY_CHARACTERS = 400;

/** Function definition of the search tool. `query` restricts the argument to one value; null: unrestricted. */
export function searchTool(query: string | null): FunctionTool {
  const constraint = query === null ? {} : { enum: [query] };
  return {
    type: 'function',
    function: {
      name: FILE_SEARCH,
      description: 'Searches the documents of the knowledge bases and returns the passages that match best.',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', description: 'What to look for, in full words.', ...constraint } },
        required: ['query'],
        additionalProperties: false,
      },
    },
  };
}

/** The query that a small model is made to search for: the question. */
export function forcedQuery(question: string | null): string | null {
  const query = question?.slice(-MAX_FORCED_QUERY_CHARACTERS).toWellFormed().trim() ?? '';
  return query === '' ? null : query;
}

/** Reads the query of a call. Falls back to the question where the model wrote none. */
export function parseQuery(callArguments: string, question: string | null): string {
  // A model that is not constrained may write invalid JSON.
  const parsed = parseJson(callArguments);
  const query = isRecord(parsed) ? parsed['query'] : null;
  return typeof query === 'string' && query.trim() !== '' ? query : (question ?? '');
}

/** One search of a turn. */
export interface PlannedSearch {
  query: string;
  /** Tokens of the prompt before its results. */
  promptTokens: number;
  /** Searches of the same turn, which share the budget. */
  share: number;
  signal: AbortSignal;
}

type SearchOutcome = Pick<FileSearchItem, 'results' | 'status'>;

/**
 * Searches the knowledge bases of the tool. Returns the best results over all of them that fit into the prompt. A
 * knowledge base that cannot be searched at present makes the search `incomplete` and empty; the response goes on.
 */
export async function searchFiles(
  deps: ResponseDeps,
  prepared: PreparedResponse,
  { query, promptTokens, share, signal }: PlannedSearch,
): Promise<SearchOutcome> {
  const { search, admission, input } = prepared;
  if (search === null || query === '') return { results: [], status: 'completed' };
  try {
    const chunks = await gatherContext(deps, admission.call, search.bases, {
      query,
      top_k: search.maxResults,
      search_type: search.searchType,
      conditions: search.conditions,
      min_score: search.scoreThreshold,
      rerank: search.rerank,
      matchPassages: CONTEXT_SEARCH.matchPassages,
      ...(search.rerankModel !== null && { rerank_model: search.rerankModel }),
      signal,
    });
    const best = chunks.slice(0, search.maxResults);
    if (prepared.selectsDocuments) {
      const computed = await answerFromTables(deps.db, best, query);
      const answers = computed === null ? [] : [viewComputed(viewSearchResult(computed))];
      const results = best.map((chunk) => ({ ...viewSearchResult(chunk), modified_at: modifiedAt(chunk) }));
      return { results: [...answers, ...results], status: 'completed' };
    }
    const contextTokens = modelContextTokens(admission.model);
    const usage = { contextTokens, conversationTokens: promptTokens, maxTokens: input.value.maxTokens };
    const fit: FitToBudget = fitTokenBudget(deps, admission.call, best, { query, signal });
    const fitting = await fit(Math.floor(documentBudget(usage) / share));
    return { results: fitting.map(viewSearchResult), status: 'completed' };
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 503)) throw error;
    deps.logger.warn({ code: error.code, reason: error.message }, 'file search failed');
    return { results: [], status: 'incomplete' };
  }
}

/** Marks a result whose text was computed over the rows of a table. */
export function viewComputed(result: SearchResult): SearchResult {
  return { ...result, attributes: { ...result.attributes, computed: 'true' } };
}

/** A chunk as a result of a search. */
export function viewSearchResult(chunk: ContextChunk): SearchResult {
  return {
    ...viewCitedChunk(chunk),
    ...viewChunkText(chunk),
    file_id: uploadedFileId(chunk) ?? chunk.documentId,
    filename: chunk.documentName,
    attributes: { source_type: chunk.sourceType, ...(chunk.sourceUri !== null && { source_uri: chunk.sourceUri }) },
  };
}

/** A result of a search as a part of a document. */
export function toJoinableResult(result: SearchResult): JoinableChunk {
  const { text, score, is_verbatim: isVerbatim = true } = result;
  return {
    documentId: result.document_id,
    documentName: result.document_name,
    headingPath: result.heading_path,
    startIndex: result.document_start_index,
    endIndex: result.document_end_index,
    ...{ text, storedText: isVerbatim ? text : '', score },
    ...(result.modified_at !== undefined && { modifiedAt: result.modified_at }),
  };
}
