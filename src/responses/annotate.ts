import { cite } from '../knowledge-bases/grounding/cite.ts';
import type { ResponseAnnotation, SearchResult } from './item-schema.ts';

/** Attributes spans of a text to search results. Results with a URL also get a `url_citation`. */
export function annotateText(text: string, results: readonly SearchResult[]): ResponseAnnotation[] {
  const chunks = results.map(({ attributes, filename, ...result }) => ({
    ...result,
    source_uri: attributes['source_uri'] ?? null,
  }));
  return cite(text, chunks).flatMap(({ file, link }): ResponseAnnotation[] =>
    link === null ? [file] : [file, { type: 'url_citation', ...link }],
  );
}
