import { cite, uploadedFileId, viewChunkText, viewCitedChunk } from '../knowledge-bases/grounding/cite.ts';
import type { ContextChunk } from '../knowledge-bases/grounding/gather-context.ts';
import type { Annotation, KnowledgeBaseContext } from './schema.ts';

/** Converts the retrieved context to the API format. */
export function viewContext(context: readonly ContextChunk[]): KnowledgeBaseContext {
  return { results: context.map(viewCitedChunk) };
}

/** Attributes parts of the answer to chunks. Chunks of pages and objects with a URL also get a `url_citation`. */
export function annotate(answer: string, context: readonly ContextChunk[]): Annotation[] {
  const chunks = context.map((chunk) => ({
    ...viewCitedChunk(chunk),
    ...viewChunkText(chunk),
    file_id: uploadedFileId(chunk),
    source_uri: chunk.sourceUri,
  }));
  return cite(answer, chunks).flatMap(({ file, link }): Annotation[] =>
    link === null ? [file] : [file, { type: 'url_citation', url_citation: link }],
  );
}
