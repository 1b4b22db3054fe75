import { createHash } from 'node:crypto';
import { WordVectors } from '../embedding/word-vectors.ts';
import { DocumentFrequencies } from './document-frequencies.ts';
import { computeFeatures } from './features.ts';
import { PreparedQuery } from './query.ts';
import { ScoringNetwork, type ScoringWeights } from './scoring-network.ts';

const MAGIC = 'QUIRERR2';
/** Bytes of the magic and of the length of the JSON header. */
const PREFIX_BYTES = 12;
/** Maximum number of cached prepared queries. Concurrent calls alternate between a few queries. */
const MAX_CACHED_QUERIES = 4;

/** The JSON header of a weights file. */
export interface RerankHeader extends ScoringWeights {
  /** SHA-256 of the embedding model that the weights were trained on, in hex. */
  embedder: string;
  /** Size of the corpus in which document frequencies were counted. */
  documents: number;
  /** Bytes of the frequency sketch. */
  slots: number;
}

/** Score and size of one document. */
export interface ScoredDocument {
  /** 0 to 1. */
  score: number;
  tokens: number;
}

/** The bundled rerank model. Scores each document by itself. Not safe to share between threads. */
export class Reranker {
  readonly #vectors: WordVectors;
  readonly #frequencies: DocumentFrequencies;
  readonly #network: ScoringNetwork;
  readonly #queries = new Map<string, PreparedQuery>();

  /** Throws when a file is not of its kind, is truncated, or when the weights belong to another embedding model. */
  constructor(weights: Uint8Array, embedder: Uint8Array) {
    const { header, slots } = readRerankFile(weights);
    if (createHash('sha256').update(embedder).digest('hex') !== header.embedder) {
      throw new Error('the rerank model was trained on another embedding model');
    }
    this.#vectors = new WordVectors(embedder);
    this.#frequencies = new DocumentFrequencies(slots, header.documents);
    this.#network = new ScoringNetwork(header);
  }

  /** Number of trained parameters, the embedding model's included. */
  get parameters(): number {
    return this.#network.parameters + this.#vectors.parameters;
  }

  countQueryTokens(query: string): number {
    return this.#prepare(query).tokens;
  }

  /** Scores a document. A blank document scores 0. */
  score(query: string, document: string): ScoredDocument {
    if (!/\S/.test(document)) return { score: 0, tokens: 0 };
    const prepared = this.#prepare(query);
    const { features, tokens } = computeFeatures(prepared, document);
    return { score: this.#network.score(features, prepared.weights.length), tokens };
  }

  #prepare(text: string): PreparedQuery {
    const cached = this.#queries.get(text);
    if (cached !== undefined) return cached;
    const [oldest] = this.#queries.keys();
    if (this.#queries.size >= MAX_CACHED_QUERIES && oldest !== undefined) this.#queries.delete(oldest);
    const query = new PreparedQuery(text, this.#frequencies, this.#vectors);
    this.#queries.set(text, query);
    return query;
  }
}

/** Parses a weights file; the model card has its layout. Throws for another kind of file or a truncated one. */
export function readRerankFile(file: Uint8Array): { header: RerankHeader; slots: Uint8Array } {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < PREFIX_BYTES || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new Error('not a rerank model of this version');
  }
  const slotsAt = PREFIX_BYTES + bytes.readUInt32LE(MAGIC.length);
  if (bytes.length < slotsAt) throw new Error('the rerank model is truncated');
  const header: RerankHeader = JSON.parse(bytes.toString('utf8', PREFIX_BYTES, slotsAt));
  const slots = file.subarray(slotsAt);
  if (slots.length !== header.slots) throw new Error('the rerank model is truncated');
  return { header, slots };
}
