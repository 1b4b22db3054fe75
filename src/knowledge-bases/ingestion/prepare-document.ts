import { createHash } from 'node:crypto';
import type { Deps } from '../../deps.ts';
import { type AdmittedEmbedder, embed } from '../../inference/embed.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { type Language, languageOf } from '../../search/languages.ts';
import type { Chunk } from './chunk/chunk.ts';
import { chunkText } from './chunk/chunk-text.ts';
import type { ExtractedDocument } from './extract/extracted-document.ts';
import type { BaseRow } from './worker-store.ts';

/** What the preparing of documents needs. */
export interface PrepareContext {
  deps: Pick<Deps, 'recordUsage' | 'metrics' | 'now'>;
  call: Call;
  embedder: AdmittedEmbedder;
  base: BaseRow;
}

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
}

/** Chunks that are embedded in one call: the engine shares its steps between calls, so more would not be faster. */
const EMBED_BATCH = 64;

/** Cuts a document into chunks and embeds them. */
export async function prepareDocument(
  { deps, call, embedder, base }: PrepareContext,
  document: ExtractedDocument,
  signal: AbortSignal,
): Promise<PreparedDocument> {
  const embedAll = async (texts: readonly string[], purpose: 'text' | 'document') => {
    const request = { texts, purpose, maxTokensPerText: null, paramOf: () => 'input', signal };
    return (await embed(deps, call, embedder, request)).vectors;
  };
  const strategy = {
    type: base.chunkingType,
    chunkSizeTokens: base.chunkSizeTokens,
    chunkOverlapTokens: base.chunkOverlapTokens,
  };
  const model = {
    countTokens: (texts: readonly string[]) => embedder.engine.countTokens(texts, signal),
    embed: (texts: readonly string[]) => embedAll(texts, 'text'),
  };
  const cut = await chunkText(document, strategy, model, signal);
  const chunks: PreparedChunk[] = [];
  for (let from = 0; from < cut.length; from += EMBED_BATCH) {
    const batch = cut.slice(from, from + EMBED_BATCH);
    const texts = batch.map(({ startIndex, endIndex }) => document.text.slice(startIndex, endIndex));
    const vectors = await embedAll(texts, 'document');
    batch.forEach((chunk, i) => {
      const [text, vector] = [texts[i], vectors[i]];
      if (text !== undefined && vector !== undefined) chunks.push({ ...chunk, id: newId('chunk'), text, vector });
    });
  }
  return {
    chunks,
    language: languageOf(document.text),
    contentHash: createHash('sha256').update(document.text).digest('hex'),
  };
}
