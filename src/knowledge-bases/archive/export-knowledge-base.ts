import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { CONNECTORS } from '../../connectors/index.ts';
import type { Deps } from '../../deps.ts';
import { readContent } from '../../files/read-content.ts';
import { type FileRow, selectFilesOfIds } from '../../files/store.ts';
import { requireScope } from '../../http/auth.ts';
import type { Caller } from '../../lib/caller.ts';
import { tarEnd, tarHeader, tarPadding } from '../../lib/tar.ts';
import { nextSlice } from '../../lib/time-slices.ts';
import { VERSION } from '../../lib/version.ts';
import type { DataSourceRow } from '../data-sources/store.ts';
import type { ChunkRow, DocumentRow } from '../documents/store.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { type ArchivedChunk, encodeChunks } from './chunk-part.ts';
import {
  type ArchivedDocument,
  type ArchivedFile,
  type ArchivedPost,
  type ArchiveEnd,
  FORMAT,
  FORMAT_VERSION,
  MAX_CHUNK_ROWS,
  MAX_CHUNKS_WITH_VECTORS,
  type Manifest,
} from './format.ts';
import { listPostedFiles, listPosts, selectDocumentsWithChunks, selectSourcesOfBase } from './store.ts';

type ExportDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'now'>;

const FILES_PER_STATEMENT = 500;

/** An export that has begun. */
export interface Export {
  /** Name of the knowledge base, for the file name. */
  name: string;
  content: Readable;
}

/**
 * Starts to write a knowledge base as an archive (`docs/develop/knowledge-base-archive.md`), as a stream: memory does
 * not depend on its size. Documents that change meanwhile are exported in one of their versions. Throws 404
 * `knowledge_base_not_found`, and 403 without the scope `files`.
 */
export async function exportKnowledgeBase(
  deps: ExportDeps,
  caller: Caller,
  baseId: string,
  signal: AbortSignal,
): Promise<Export> {
  requireScope(caller, 'files', null);
  const base = await findKnowledgeBase(deps, caller.organizationId, baseId);
  const sources = await selectSourcesOfBase(deps.db.sql, base.id);
  const parts = new ArchiveWriter(deps, base, signal).write(sources);
  return { name: base.name, content: Readable.from(parts, { objectMode: false }) };
}

class ArchiveWriter {
  readonly #deps: ExportDeps;
  readonly #base: KnowledgeBaseRow;
  readonly #signal: AbortSignal;
  readonly #now: Date;
  readonly #totals: ArchiveEnd = { files: 0, posts: 0, documents: 0, chunks: 0 };

  constructor(deps: ExportDeps, base: KnowledgeBaseRow, signal: AbortSignal) {
    this.#deps = deps;
    this.#base = base;
    this.#signal = signal;
    this.#now = new Date(deps.now());
  }

  async *write(sources: readonly DataSourceRow[]): AsyncGenerator<Uint8Array> {
    yield* this.#json('manifest', this.#manifest(sources));
    for (const [index, source] of sources.entries()) yield* this.#source(`source-${index + 1}`, source);
    yield* this.#json('end', this.#totals);
    yield tarEnd();
  }

  #manifest(sources: readonly DataSourceRow[]): Manifest {
    const base = this.#base;
    return {
      format: FORMAT,
      version: FORMAT_VERSION,
      created_by: VERSION,
      created_at: Math.floor(this.#now.getTime() / 1000),
      knowledge_base: {
        name: base.name,
        description: base.description,
        embedding_model: base.embeddingModel,
        embedding_fingerprint: base.embeddingFingerprint,
        chunking_strategy: {
          type: base.chunkingType,
          chunk_size: base.chunkSizeTokens,
          chunk_overlap: base.chunkOverlapTokens,
        },
        metadata: base.metadata,
        expires_after_days: base.expiresAfterDays,
      },
      data_sources: sources.map(({ type, name, config, documentCount }) => {
        const hidden = new Set(['file_ids', ...CONNECTORS[type].secretFields]);
        const fields = Object.entries(config).filter(([field]) => !hidden.has(field));
        return { type, name, config: Object.fromEntries(fields), document_count: documentCount };
      }),
    };
  }

  async *#source(folder: string, source: DataSourceRow): AsyncGenerator<Uint8Array> {
    const { sql } = this.#deps.db;
    /** Numbers of the exported files by id. */
    const numbers = new Map<string, number>();
    const ids = source.type === 'api' ? listPostedFiles(sql, source.id) : toAsync(source.config['file_ids']);
    for await (const file of this.#findFiles(ids)) {
      if (numbers.has(file.id)) continue;
      numbers.set(file.id, numbers.size + 1);
      yield* this.#file(`${folder}/files/${numbers.size}`, file);
    }
    if (source.type === 'api') yield* this.#posts(folder, source, numbers);
    yield* this.#documents(folder, source, numbers);
  }

  async *#findFiles(ids: AsyncIterable<string>): AsyncGenerator<FileRow> {
    const { organizationId } = this.#base;
    const find = async (some: readonly string[]) => {
      const rows = await selectFilesOfIds(this.#deps.db.sql, organizationId, some);
      const byId = new Map(rows.map((row) => [row.id, row]));
      // In the order of the config. Deleted files are left out.
      return some.flatMap((id) => byId.get(id) ?? []);
    };
    let page: string[] = [];
    for await (const id of ids) {
      if (page.push(id) < FILES_PER_STATEMENT) continue;
      yield* await find(page);
      page = [];
    }
    yield* await find(page);
  }

  async *#file(part: string, row: FileRow): AsyncGenerator<Uint8Array> {
    const { filename, sha256, bytes } = row;
    yield* this.#json(part, { filename, sha256, bytes } satisfies ArchivedFile);
    yield tarHeader({ name: `${part}.${sha256}.bin`, bytes }, this.#now);
    yield* await readContent(this.#deps, row, null, this.#signal);
    yield tarPadding(bytes);
    this.#totals.files += 1;
  }

  async *#posts(folder: string, source: DataSourceRow, files: ReadonlyMap<string, number>): AsyncGenerator<Uint8Array> {
    let number = 0;
    for await (const row of listPosts(this.#deps.db.sql, source.id)) {
      const file = row.fileId === null ? null : (files.get(row.fileId) ?? null);
      if (row.fileId !== null && file === null) continue;
      const { key, name, text, format, metadata, expiresAt, chunkSize, isCancelled, fingerprint } = row;
      const post: ArchivedPost = {
        ...{ key, name, text, format, file, metadata, fingerprint },
        expires_at: expiresAt?.getTime() ?? null,
        chunk_size: chunkSize,
        is_cancelled: isCancelled,
      };
      number += 1;
      yield* this.#json(`${folder}/posts/${number}`, post);
      this.#totals.posts += 1;
    }
  }

  async *#documents(
    folder: string,
    source: DataSourceRow,
    files: ReadonlyMap<string, number>,
  ): AsyncGenerator<Uint8Array> {
    const isUpload = source.type === 'file_upload';
    const counts = { documents: 0, chunks: 0 };
    for (let after = ''; ; ) {
      const page = await selectDocumentsWithChunks(this.#deps.db.sql, source.id, after);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.document.id;
      // The document of a deleted file disappears with the next sync.
      const kept = page.filter(({ document }) => !isUpload || files.has(document.itemKey));
      if (kept.length === 0) continue;
      counts.documents += 1;
      const documents = kept.map(({ document, chunks }) =>
        viewDocument(document, chunks.length, fileNumber(document, files)),
      );
      yield* this.#json(`${folder}/documents/${counts.documents}`, documents);
      for (const rows of await this.#chunkParts(kept)) {
        counts.chunks += 1;
        await nextSlice(source.organizationId);
        yield* this.#part(`${folder}/chunks/${counts.chunks}`, encodeChunks(rows), 'arrow');
        this.#totals.chunks += rows.length;
      }
      this.#totals.documents += kept.length;
    }
  }

  async #chunkParts(documents: readonly { document: DocumentRow; chunks: ChunkRow[] }[]): Promise<ArchivedChunk[][]> {
    const { id: baseId, vectorColumn, embeddingFingerprint } = this.#base;
    // Vectors of another model may be in the column until all are replaced.
    const embedded = documents.filter(
      ({ document, chunks }) =>
        document.embeddingFingerprint !== null &&
        document.embeddingFingerprint === embeddingFingerprint &&
        chunks.length <= MAX_CHUNKS_WITH_VECTORS,
    );
    const ids = embedded.map(({ document }) => document.id);
    const vectors = ids.length === 0 ? new Map() : await this.#deps.chunks.vectors(baseId, ids, vectorColumn);
    const rows = documents.flatMap(({ chunks }, document) =>
      chunks.map((chunk): ArchivedChunk => ({ ...chunk, document, vector: vectors.get(chunk.id) ?? null })),
    );
    return Array.from({ length: Math.ceil(rows.length / MAX_CHUNK_ROWS) }, (_, i) =>
      rows.slice(i * MAX_CHUNK_ROWS, (i + 1) * MAX_CHUNK_ROWS),
    );
  }

  #json(part: string, value: object): Generator<Uint8Array> {
    return this.#part(part, Buffer.from(JSON.stringify(value)), 'json');
  }

  *#part(part: string, content: Uint8Array, extension: string): Generator<Uint8Array> {
    this.#signal.throwIfAborted();
    const hash = createHash('sha256').update(content).digest('hex');
    const bytes = content.byteLength;
    yield tarHeader({ name: `${part}.${hash}.${extension}`, bytes }, this.#now);
    yield content;
    yield tarPadding(bytes);
  }
}

async function* toAsync(ids: unknown): AsyncGenerator<string> {
  yield* (ids as string[] | undefined) ?? [];
}

/** Number of the file that a document was made from; null for another origin. Its URI is the id, or `ID#PART`. */
function fileNumber({ sourceUri }: DocumentRow, files: ReadonlyMap<string, number>): number | null {
  return files.get(sourceUri?.split('#', 1)[0] ?? '') ?? null;
}

function viewDocument(row: DocumentRow, chunkCount: number, file: number | null): ArchivedDocument {
  return {
    // Ids of files are those of the importing service.
    item_key: file !== null && row.sourceUri?.startsWith(row.itemKey) ? '' : row.itemKey,
    file,
    part: row.part,
    fingerprint: row.fingerprint,
    name: row.name,
    source_type: row.sourceType,
    source_uri: file === null ? row.sourceUri : (row.sourceUri?.replace(/^[^#]*/, '') ?? ''),
    mime_type: row.mimeType,
    bytes: row.bytes,
    content_hash: row.contentHash,
    extraction_hash: row.extractionHash,
    chunk_count: chunkCount,
    error: row.error,
    warnings: row.warnings,
    metadata: row.metadata,
    own_metadata: row.ownMetadata as ArchivedDocument['own_metadata'],
    unfilterable_keys: row.unfilterableKeys,
    embedding_fingerprint: row.embeddingFingerprint,
    language: row.language,
    created_at: row.createdAt.getTime(),
    updated_at: row.updatedAt.getTime(),
    expires_at: row.expiresAt?.getTime() ?? null,
  };
}
