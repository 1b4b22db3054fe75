import { createHash } from 'node:crypto';
import type { TextChunk } from '../../chunking/chunk.ts';
import { chunkText } from '../../chunking/chunk-text.ts';
import { type CooperativeSteps, runCooperatively } from '../../chunking/cooperative.ts';
import type { SourceContent, SourceItem } from '../../connectors/connector.ts';
import type { ChunkSize } from '../../connectors/posted-store.ts';
import type { Deps } from '../../deps.ts';
import type { EmbeddingPurpose } from '../../engines/embedding-engine.ts';
import type { DocumentMetadata } from '../../extraction/document-metadata.ts';
import type { ExtractedDocument, ExtractedText, Extraction } from '../../extraction/extracted-document.ts';
import { flattenMetadata } from '../../extraction/flatten-metadata.ts';
import type { Admission } from '../../inference/admission.ts';
import { embed } from '../../inference/one-piece-calls.ts';
import { exemptInput } from '../../inference/screening.ts';
import { newId } from '../../lib/ids.ts';
import { detectLanguage, type Language } from '../../search/languages.ts';
import type { StoredMetadata } from '../documents/metadata.ts';
import type { DocumentRow } from '../documents/store.ts';
import { type JobError, toJobError } from '../jobs/job-error.ts';
import { applySourceMetadata, mergeMetadataLayers } from './document-metadata.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';
import type { ChangedItem, ItemContext } from './run-context.ts';
import { selectPartDocument } from './store.ts';

/** Suffix of the fingerprints of documents whose item is not processed completely. */
const INCOMPLETE = '~';
/** Own metadata of a document that could not be read. */
export const NO_METADATA: StoredMetadata = { metadata: {}, leftOutKeys: [] };
/** Texts per embedding call. The engine batches concurrent calls, so larger batches are not faster. */
const BATCH_TEXTS = 64;

/** Characters and blocks that are hashed per cooperative step. */
const STEP_CHARACTERS = 65_536;
const STEP_BLOCKS = 512;

/** A chunk with its id, text and vector. */
export interface PreparedChunk extends TextChunk {
  id: string;
  text: string;
  /** Null: the document is embedded later. */
  vector: Float32Array | null;
}

/** A document ready to be stored and indexed. */
export interface PreparedDocument {
  chunks: PreparedChunk[];
  language: Language;
  /** SHA-256 of the text, hexadecimal; null: unknown. */
  contentHash: string | null;
  /** Result of `extractionHash`; null: unknown. */
  extractionHash: string | null;
}

/** A new, changed or failed document to write. */
export interface DocumentChange {
  row: Omit<
    DocumentRow,
    | 'chunkCount'
    | 'status'
    | 'error'
    | 'contentHash'
    | 'extractionHash'
    | 'language'
    | 'embeddingFingerprint'
    | 'unfilterableKeys'
  >;
  /** Metadata keys that were not stored. */
  leftOutKeys?: readonly string[];
  /** The stored document; null for a new one. */
  before: DocumentRow | null;
  /** `unchanged`: keeps its chunks and vectors; holds `before`. */
  outcome: { prepared: PreparedDocument } | { unchanged: DocumentRow } | { error: JobError };
}

/** Dependencies and admitted model of embedding calls. */
export interface EmbedContext {
  deps: Pick<Deps, 'reserve' | 'recordUsage' | 'metrics' | 'now'>;
  embedder: Admission<'embedding'>;
}

/**
 * Prepares one document of an item. Returns null when an earlier run of this job has written it. A document with the
 * same extraction hash keeps its chunks.
 */
export async function prepareDocument(
  context: ItemContext,
  input: { item: ChangedItem; content: SourceContent; extraction: Extraction; bytes: number },
): Promise<DocumentChange | null> {
  const { deps, source, job, signal } = context;
  const { item, content, extraction, bytes } = input;
  const { part } = extraction;
  const before = item.storedDocuments > 0 ? await selectPartDocument(deps.db.sql, source.id, item.key, part) : null;
  if (before?.seenBy === job.id && before.fingerprint === item.fingerprint + INCOMPLETE) return null;
  const ownMetadata = 'error' in extraction ? null : collectMetadata(extraction.document, content);
  const { metadata, leftOutKeys } = applySourceMetadata(listedMetadata(context, item), ownMetadata ?? NO_METADATA);
  const warnings = 'error' in extraction ? [] : (extraction.document.warnings ?? []);
  const mimeType = content.mediaType;
  const row = buildDocumentRow(context, item, { before, part, bytes, mimeType, metadata, ownMetadata, warnings });
  const change = { row, before, leftOutKeys };
  if ('error' in extraction) return { ...change, outcome: { error: toJobError(extraction.error) } };
  const { document } = extraction;
  const chunkSize = item.chunkSize ?? null;
  if (before?.status === 'completed' && before.extractionHash === (await extractionHash(document, chunkSize, signal))) {
    return { ...change, outcome: { unchanged: before } };
  }
  return { ...change, outcome: { prepared: await chunkAndEmbed(context, document, chunkSize, signal) } };
}

/** Merges the metadata of a document with that of its item. */
function collectMetadata(document: ExtractedDocument, { metadata }: SourceContent): StoredMetadata {
  const title = document.title === null ? {} : { title: document.title };
  return mergeMetadataLayers(document.metadata, flattenMetadata(metadata), title);
}

/** Metadata that overrides that of an item's documents. */
export function listedMetadata(context: Pick<ItemContext, 'metadata'>, item: SourceItem): DocumentMetadata {
  return { ...context.metadata, ...item.metadata };
}

/** Builds the row of a document whose item is not complete, without the columns that depend on its text. */
export function buildDocumentRow(
  {
    base,
    source,
    job,
    deps,
    expiresAfterSeconds,
  }: Pick<ItemContext, 'base' | 'source' | 'job' | 'deps' | 'expiresAfterSeconds'>,
  item: SourceItem,
  fields: Pick<DocumentRow, 'part' | 'bytes' | 'mimeType' | 'metadata' | 'ownMetadata' | 'warnings'> & {
    before: DocumentRow | null;
  },
): DocumentChange['row'] {
  const { before, part, bytes, mimeType, metadata, ownMetadata, warnings } = fields;
  const now = new Date(deps.now());
  return {
    id: before?.id ?? newId('document'),
    knowledgeBaseId: base.id,
    dataSourceId: source.id,
    organizationId: job.organizationId,
    itemKey: item.key,
    part,
    fingerprint: item.fingerprint + INCOMPLETE,
    seenBy: job.id,
    // PostgreSQL does not accept NUL, and names come from remote services.
    name: item.name.replaceAll('\0', ''),
    sourceType: source.type,
    sourceUri: item.uri === null || part === '' ? item.uri : `${item.uri}#${part}`,
    mimeType,
    bytes,
    metadata,
    ownMetadata,
    warnings,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
    expiresAt:
      expiresAfterSeconds === null ? (item.expiresAt ?? null) : new Date(now.getTime() + expiresAfterSeconds * 1000),
  };
}

/** Chunks and embeds a document. */
async function chunkAndEmbed(
  context: ItemContext,
  document: ExtractedDocument,
  chunkSize: ChunkSize | null,
  signal: AbortSignal,
): Promise<PreparedDocument> {
  const { base } = context;
  const { engine, call } = context.embedder;
  const scope = call.caller.organizationId;
  const { chunkSizeTokens, chunkOverlapTokens } = chunkSize ?? base;
  const strategy = { type: base.chunkingType, chunkSizeTokens, chunkOverlapTokens };
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
    ...(await runCooperatively(hashDocument(document, chunkSize), signal)),
  };
}

/**
 * SHA-256 of text, blocks, boxes and the document's own size of chunks, hexadecimal: documents with equal hashes have
 * equal chunks.
 */
export async function extractionHash(
  document: ExtractedText,
  chunkSize: ChunkSize | null,
  signal: AbortSignal,
): Promise<string> {
  return (await runCooperatively(hashDocument(document, chunkSize), signal)).extractionHash;
}

function* hashDocument(
  { text, blocks, boxes = [] }: ExtractedText,
  chunkSize: ChunkSize | null,
): CooperativeSteps<{ contentHash: string; extractionHash: string }> {
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
  hash.update(']');
  for (let from = 0; from < boxes.length; from += STEP_BLOCKS) {
    hash.update(JSON.stringify(boxes.slice(from, from + STEP_BLOCKS)));
    yield;
  }
  if (chunkSize !== null) hash.update(`${chunkSize.chunkSizeTokens}/${chunkSize.chunkOverlapTokens}`);
  return { contentHash, extractionHash: hash.digest('hex') };
}

/** Embeds any number of texts, with retries. Returns the vectors in order. */
export async function embedInBatches(
  { deps, embedder }: EmbedContext,
  texts: readonly string[],
  purpose: EmbeddingPurpose,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { engine } = embedder;
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += BATCH_TEXTS) {
    const batch = texts.slice(from, from + BATCH_TEXTS);
    const input = exemptInput({ texts: batch, purpose, maxTokensPerText: null, nameParam: () => 'input' });
    const embedded = await retryWhileUnavailable(() => embed(deps, embedder, input, signal), { engine, signal });
    vectors.push(...embedded.vectors);
  }
  return vectors;
}
