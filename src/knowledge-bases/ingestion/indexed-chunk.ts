import type { IndexedChunk } from '../../search/chunk-rows.ts';
import type { FieldValues } from '../../search/field-values.ts';
import type { Language } from '../../search/languages.ts';
import { chunkFields } from '../documents/metadata.ts';
import type { Metadata } from '../tables.ts';

/** What of a document its chunks are found by. */
export interface ChunkedDocument {
  id: string;
  name: string;
  sourceType: string;
  metadata: Metadata;
  /** Keys of the metadata that are not filtered by. */
  unfilterableKeys: readonly string[];
  language: string;
}

type EmbeddedChunk = Parameters<typeof chunkFields>[0] & { id: string; text: string };

/** A chunk of the document as the index takes it. What is known of the chunk wins over what its document says of itself. */
export function indexedChunk(document: ChunkedDocument, chunk: EmbeddedChunk, vector: Float32Array): IndexedChunk {
  const unfilterable = new Set(document.unfilterableKeys);
  const filterable = Object.entries(document.metadata).filter(([key]) => !unfilterable.has(key));
  return {
    id: chunk.id,
    documentId: document.id,
    documentName: document.name,
    sourceType: document.sourceType,
    text: chunk.text,
    language: document.language as Language,
    vector,
    fields: { ...Object.fromEntries(filterable), ...chunkFields(chunk) } as FieldValues,
  };
}
