import { createHash } from 'node:crypto';
import { newId } from '../../lib/ids.ts';
import { type Language, languageOf } from '../../search/languages.ts';
import type { Chunk } from './chunk/chunk.ts';
import { chunkText } from './chunk/chunk-text.ts';
import { type EmbedContext, embedInBatches } from './embed-in-batches.ts';
import type { ExtractedDocument } from './extract/extracted-document.ts';
import type { ExtractedText } from './extracted-text.ts';
import { patiently } from './patiently.ts';
import type { BaseRow } from './worker-store.ts';

/** What the preparing of documents needs. */
export type PrepareContext = EmbedContext & { base: BaseRow };

/** A chunk with its id, text and vector. */
export interface PreparedChunk extends Chunk {
  id: string;
  text: string;
  vector: Float32Array;
}

/** A document ready to be stored and indexed. */
export interface PreparedDocument {
  chunks: PreparedChunk[];
  language: Language;
  /** SHA-256 of the text, hexadecimal. */
  contentHash: string;
  /** What `extractionHash` gives. */
  extractionHash: string;
}

/** Cuts a document into chunks and embeds them. */
export async function prepareDocument(
  context: PrepareContext,
  document: ExtractedDocument,
  signal: AbortSignal,
): Promise<PreparedDocument> {
  const { base, embedder } = context;
  const strategy = {
    type: base.chunkingType,
    chunkSizeTokens: base.chunkSizeTokens,
    chunkOverlapTokens: base.chunkOverlapTokens,
  };
  const model = {
    countTokens: (texts: readonly string[]) => patiently(() => embedder.engine.countTokens(texts, signal), signal),
    embed: (texts: readonly string[]) => embedInBatches(context, texts, 'text', signal),
  };
  const cut = await chunkText(document, strategy, model, signal);
  const texts = cut.map(({ startIndex, endIndex }) => document.text.slice(startIndex, endIndex));
  const vectors = await embedInBatches(context, texts, 'document', signal);
  const chunks = cut.flatMap((chunk, i) => {
    const [text, vector] = [texts[i], vectors[i]];
    return text === undefined || vector === undefined ? [] : [{ ...chunk, id: newId('chunk'), text, vector }];
  });
  return {
    chunks,
    language: languageOf(document.text),
    contentHash: createHash('sha256').update(document.text).digest('hex'),
    extractionHash: extractionHash(document),
  };
}

/** SHA-256, hexadecimal, of all that a document's chunks are cut from: where it is the same, so are they. */
export function extractionHash({ text, blocks }: ExtractedText): string {
  return createHash('sha256').update(text).update('\0').update(JSON.stringify(blocks)).digest('hex');
}
