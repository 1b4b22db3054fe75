import { attribute, citedUrl } from '../knowledge-bases/grounding/attribution.ts';
import type { ResponseAnnotation, SearchResult } from './item-schema.ts';

/** Attributes spans of a text to search results. Results with a URL also get a `url_citation`. */
export function annotateText(text: string, results: readonly SearchResult[]): ResponseAnnotation[] {
  const distinct = [...new Map(results.map((result) => [result.chunk_id, result])).values()];
  return attribute(text, distinct).flatMap(({ chunk: result, start, end }): ResponseAnnotation[] => {
    const { file_id, filename, kb_id, document_id, document_name, chunk_id, score } = result;
    const span = { start_index: start, end_index: end };
    const citation: ResponseAnnotation = {
      type: 'file_citation',
      file_id,
      filename,
      index: end,
      kb_id,
      document_id,
      document_name,
      chunk_id,
      ...span,
      score,
    };
    const url = citedUrl(result.attributes['source_uri'] ?? null);
    if (url === null) return [citation];
    return [citation, { type: 'url_citation', url, title: document_name, ...span }];
  });
}
