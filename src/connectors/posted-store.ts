/** Size of the chunks of a document, in tokens of the embedding model. */
export interface ChunkSize {
  chunkSizeTokens: number;
  chunkOverlapTokens: number;
}

/** Formats of posted texts. */
export const POSTED_FORMATS = ['text', 'markdown', 'html'] as const;

/** A document that a caller has posted. */
export interface PostedContent {
  key: string;
  name: string;
  /** Null for a file. */
  text: string | null;
  format: (typeof POSTED_FORMATS)[number];
  /** Null for a text. */
  fileId: string | null;
  metadata: Record<string, unknown>;
  expiresAt: Date | null;
  /** Size of its chunks; null: as the knowledge base says. */
  chunkSize: ChunkSize | null;
  /** Whether its ingestion was cancelled: a job does not read it. */
  isCancelled: boolean;
  fingerprint: string;
}

/** The posted documents of one data source. */
export interface PostedStore {
  /** Selects up to `limit` documents with keys above `after` whose present version has not been ingested, by key. */
  selectPending(after: string, limit: number): Promise<Omit<PostedContent, 'text' | 'format' | 'isCancelled'>[]>;
  /** Selects a document; null when it was deleted. */
  select(key: string): Promise<PostedContent | null>;
}
