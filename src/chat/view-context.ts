import { attribute, citedUrl } from '../knowledge-bases/grounding/attribution.ts';
import type { ContextChunk } from '../knowledge-bases/grounding/gather-context.ts';
import type { Annotation, KnowledgeBaseContext } from './schema.ts';

/** Converts the retrieved context to the API format. */
export function viewContext(context: readonly ContextChunk[]): KnowledgeBaseContext {
  return {
    results: context.map((chunk) => ({
      kb_id: chunk.knowledgeBaseId,
      document_id: chunk.documentId,
      document_name: chunk.documentName,
      chunk_id: chunk.id,
      score: chunk.score,
    })),
  };
}

/** Attributes parts of the answer to chunks. Chunks of pages and objects with a URL also get a `url_citation`. */
export function annotate(answer: string, context: readonly ContextChunk[]): Annotation[] {
  return attribute(answer, context).flatMap(({ chunk, start, end }): Annotation[] => {
    const citation: Annotation = {
      type: 'file_citation',
      file_id: chunk.sourceType === 'file_upload' ? (chunk.sourceUri?.split('#')[0] ?? null) : null,
      filename: chunk.documentName,
      index: end,
      kb_id: chunk.knowledgeBaseId,
      document_id: chunk.documentId,
      document_name: chunk.documentName,
      chunk_id: chunk.id,
      start_index: start,
      end_index: end,
      score: chunk.score,
    };
    const url = citedUrl(chunk.sourceUri);
    if (url === null) return [citation];
    return [
      citation,
      { type: 'url_citation', url_citation: { url, title: chunk.documentName, start_index: start, end_index: end } },
    ];
  });
}
