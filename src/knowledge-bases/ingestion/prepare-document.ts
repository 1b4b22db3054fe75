import { createHash } from 'node:crypto';
import type { TextChunk } from '../../chunking/chunk.ts';
import { chunkText } from '../../chunking/chunk-text.ts';
import { type CooperativeSteps, runCooperatively } from '../../chunking/cooperative.ts';
import type { ExtractedDocument, ExtractedText } from '../../extraction/extracted-document.ts';
import { newId } from '../../lib/ids.ts';
import { detectLanguage, type Language } from '../../search/languages.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { type EmbedContext, embedInBatches } from './embed-in-batches.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/** Characters and blocks that are hashed per cooperative step. */
const STEP_CHARACTERS = 65_536;
const STEP_BLOCKS = 512;

/** Context of `prepareDocument`. */
export type PrepareContext = EmbedContext & { base: KnowledgeBaseRow };

/** A chunk with its id, text and vector. */
export interface PreparedChunk extends TextChunk {
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
  /** Result of `extractionHash`. */
  extractionHash: string;
}

/** Chunks and embeds a document. */
export async function prepareDocument(
  context: PrepareContext,
  document: ExtractedDocument,
  signal: AbortSignal,
): Promise<PreparedDocument> {
  const { base } = context;
  const { engine, call } = context.embedder;
  const scope = call.caller.organizationId;
  const strategy = {
    type: base.chunkingType,
    chunkSizeTokens: base.chunkSizeTokens,
    chunkOverlapTokens: base.chunkOverlapTokens,
  };
  const model = {
    countTokens: (texts: readonly string[]) =>
      retryWhileUnavailable(() => engine.countTokens(texts, signal, scope), { engine, signal }),
    embed: (texts: readonly string[]) => embedInBatches(context, texts, 'text', signal),
  };
  const textChunks = await chunkText(document, strategy, model, signal);
  const texts = textChunks.map(({ startIndex, endIndex }) => document.text.slice(startIndex, endIndex));
  const vectors = await embedInBatches(context, texts, 'document', signal);
  const chunks = textChunks.flatMap((chunk, i) => {
    const [text, vector] = [texts[i], vectors[i]];
    return text === undefined || vector === undefined ? [] : [{ ...chunk, id: newId('chunk'), text, vector }];
  });
  return {
    chunks,
    language: detectLanguage(document.text),
    ...(await runCooperatively(hashDocument(document), signal)),
  };
}

/** SHA-256 of text and blocks, hexadecimal: documents with equal hashes have equal chunks. */
export async function extractionHash(document: ExtractedText, signal: AbortSignal): Promise<string> {
  return (await runCooperatively(hashDocument(document), signal)).extractionHash;
}

function* hashDocument({
  text,
  blocks,
}: ExtractedText): CooperativeSteps<Pick<PreparedDocument, 'contentHash' | 'extractionHash'>> {
  const hash = createHash('sha256');
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + STEP_CHARACTERS;
    // A split surrogate pair would be hashed as replacement characters.
    if (/[\udc00-\udfff]/.test(text.charAt(to))) to += 1;
    hash.update(text.slice(from, to));
    yield;
  }
  const contentHash = hash.copy().digest('hex');
  hash.update('\0[');
  for (let from = 0; from < blocks.length; from += STEP_BLOCKS) {
    const json = JSON.stringify(blocks.slice(from, from + STEP_BLOCKS)).slice(1, -1);
    hash.update(from === 0 ? json : `,${json}`);
    yield;
  }
  return { contentHash, extractionHash: hash.update(']').digest('hex') };
}
