import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { admitRerank, rerank } from '../inference/rerank.ts';
import type { Call } from '../lib/caller.ts';
import { MAX_DOCUMENT_CHARACTERS, MAX_TOTAL_CHARACTERS, type RerankAnswer, type RerankRequest } from './schema.ts';

/** What reranking needs of the dependencies. */
export type RerankDeps = Pick<Deps, 'models' | 'recordUsage' | 'metrics' | 'now'>;

/** Orders the request's documents. Throws 400 for a blank query, and what `admitRerank` and the engine throw. */
export async function rerankDocuments(
  deps: RerankDeps,
  call: Call,
  request: RerankRequest,
  signal: AbortSignal,
): Promise<RerankAnswer> {
  const admitted = admitRerank(deps, call.caller, request.model);
  if (!/\S/.test(request.query)) throw invalidValue('query', 'must not be blank');
  const documents = request.documents.map((document) => (typeof document === 'string' ? document : document.text));
  requireBoundedLength(documents);
  const { scores, tokens } = await rerank(deps, call, admitted, { query: request.query, documents, signal });
  const withText = request.return_documents ?? true;
  const results = scores
    .map((score, index) => ({ index, relevance_score: score }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, request.top_n ?? documents.length)
    .map((result) => (withText ? { ...result, document: { text: documents[result.index] ?? '' } } : result));
  return { object: 'list', results, model: admitted.model.id, usage: { total_tokens: tokens } };
}

function requireBoundedLength(documents: readonly string[]): void {
  let total = 0;
  documents.forEach((document, index) => {
    total += document.length;
    if (document.length > MAX_DOCUMENT_CHARACTERS) {
      throw invalidValue(`documents.${index}`, `must not have more than ${MAX_DOCUMENT_CHARACTERS} characters`);
    }
  });
  if (total > MAX_TOTAL_CHARACTERS) {
    throw invalidValue('documents', `must not have more than ${MAX_TOTAL_CHARACTERS} characters together`);
  }
}
