import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { admit } from '../inference/admission.ts';
import { rerankBounds } from '../inference/cost-bounds.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { rerank } from '../inference/one-piece-calls.ts';
import { screenInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import type { ModerationNotice } from '../lib/screen.ts';
import { MAX_DOCUMENT_CHARACTERS, MAX_TOTAL_CHARACTERS, type RerankBody, type RerankResponse } from './schema.ts';

/** Dependencies of `rerankDocuments`. */
export type RerankDeps = Pick<Deps, 'models' | 'reserve' | 'recordUsage' | 'screen' | 'metrics' | 'now'>;

/**
 * Sorts the documents of the request by relevance. Throws 400 for a blank query and for too long texts, and what
 * `admit`, the content policy and the engine throw.
 */
export async function rerankDocuments(
  deps: RerankDeps,
  call: Call,
  request: RerankBody,
  signal: AbortSignal,
): Promise<{ response: RerankResponse; notice: ModerationNotice | null }> {
  const admission = admit(deps, call, { kind: 'rerank', model: request.model });
  const { query } = request;
  if (!/\S/.test(query)) throw invalidValue('query', 'must not be blank');
  const documents = request.documents.map((document) => (typeof document === 'string' ? document : document.text));
  requireBoundedLength(documents);
  await admission.requireCredits(deps, () => rerankBounds(query, documents));
  const input = await screenInput(deps, admission, { query, documents }, [query]);
  const { scores, tokens } = await rerank(deps, admission, input, signal);
  const withText = request.return_documents ?? true;
  const results = scores
    .map((score, index) => ({ index, relevance_score: score }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, request.top_n ?? documents.length)
    .map((result) => (withText ? { ...result, document: { text: documents[result.index] ?? '' } } : result));
  const { notice } = input;
  const usage = { total_tokens: tokens };
  const meta = { billed_units: usage, tokens: { input_tokens: tokens, output_tokens: 0 } };
  const model = admission.model.id;
  return { response: { object: 'list', results, model, usage, meta, ...viewNotices([notice]) }, notice };
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
