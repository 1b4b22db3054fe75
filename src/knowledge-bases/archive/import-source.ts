import { ApiError } from '../../errors.ts';
import { flattenMetadata } from '../../extraction/flatten-metadata.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { deleteFile } from '../../files/delete-file.ts';
import { insertFileUses, selectFile } from '../../files/store.ts';
import { uploadFile } from '../../files/upload-file.ts';
import { admit } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import type { Language } from '../../search/languages.ts';
import { selectPostedOfKeys, upsertPosted } from '../documents/posted-store.ts';
import { FilterKeys } from '../ingestion/filter-keys.ts';
import type { DocumentChange } from '../ingestion/prepare-document.ts';
import { type IngestDeps, lockRun, SourceDeletedError, writeInRun } from '../ingestion/run-context.ts';
import type { JobContext } from '../ingestion/store.ts';
import { writeDocuments } from '../ingestion/write-documents.ts';
import type { ImportedArchive } from '../jobs/ingest-job.ts';
import { incrementJobCounts } from '../jobs/store.ts';
import { ArchiveError } from './archive-error.ts';
import type { ArchivedPost } from './format.ts';
import { type ArchivePart, readArchive } from './read-archive.ts';
import { appendFileId, clearFileIds, selectFileIds, selectImported } from './store.ts';

type Documents = Extract<ArchivePart, { type: 'documents' }>['documents'];

/**
 * Imports the files, posted documents and documents of a data source from the archive. Continues where an earlier run
 * ended: every file and group of documents is committed with what tells that it was imported. Vectors of the present
 * embedding model are kept; the caller re-embeds the other documents. Throws an `IngestionError` for a lost or damaged
 * archive.
 */
export async function importSource(
  deps: IngestDeps,
  context: JobContext & { call: Call },
  archive: ImportedArchive,
  signal: AbortSignal,
): Promise<void> {
  const { job, source } = context;
  const file = await selectFile(deps.db.sql, job.organizationId, archive.fileId);
  if (file === null) throw new IngestionError('file_not_found', 'The archive has been deleted.');
  const importer = new SourceImporter(deps, context, signal);
  try {
    const bytes = await deps.blobs.read(file.blobKey, null, signal);
    for await (const part of readArchive(bytes, { onlySource: archive.source })) {
      signal.throwIfAborted();
      await importer.importPart(part, archive.source);
    }
  } catch (error) {
    throw error instanceof ArchiveError ? new IngestionError('invalid_file', error.message, error) : error;
  }
  // Documents refer to these files by now.
  if (source.type !== 'file_upload') await writeInRun({ ...context, deps }, (sql) => clearFileIds(sql, source.id));
}

/** Deletes the archive when no import uses it any more. May be called again. */
export async function deleteArchive(
  deps: Pick<IngestDeps, 'db' | 'blobs' | 'logger' | 'now'>,
  { organizationId, fileId }: ImportedArchive,
): Promise<void> {
  try {
    await deleteFile(deps, organizationId, fileId);
  } catch (error) {
    // Deleted before, or used by the job of another data source.
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) throw error;
  }
}

class SourceImporter {
  readonly #deps: IngestDeps;
  readonly #context: JobContext & { call: Call };
  readonly #signal: AbortSignal;
  readonly #filterKeys: FilterKeys;
  /** Ids of the imported files, by their number. */
  #fileIds: string[] = [];

  constructor(deps: IngestDeps, context: JobContext & { call: Call }, signal: AbortSignal) {
    this.#deps = deps;
    this.#context = context;
    this.#signal = signal;
    this.#filterKeys = new FilterKeys(deps.db, context.base.id);
  }

  async importPart(part: ArchivePart, number: number): Promise<void> {
    if (part.type === 'manifest') await this.#begin(part.manifest.data_sources[number - 1]?.document_count ?? 0);
    else if (part.type === 'file') await this.#importFile(part);
    else if (part.type === 'post') await this.#importPost(part.post);
    else await this.#importDocuments(part.documents);
  }

  async #begin(documentsScanned: number): Promise<void> {
    const { job, source } = this.#context;
    this.#fileIds = await selectFileIds(this.#deps.db.sql, source.id);
    await this.#write((sql) => incrementJobCounts(sql, job.id, { documentsScanned }));
  }

  async #importFile({ number, file, content }: Extract<ArchivePart, { type: 'file' }>): Promise<void> {
    if (number <= this.#fileIds.length) return;
    const { job, source, call } = this.#context;
    const upload = {
      filename: file.filename,
      content,
      purpose: () => 'knowledge-base' as const,
      onCommit: async (sql: Parameters<typeof appendFileId>[0], id: string) => {
        if (!(await lockRun(sql, this.#context))) throw new SourceDeletedError();
        await appendFileId(sql, source.id, id);
        await insertFileUses(sql, [id], job.id, new Date(this.#deps.now()));
      },
    };
    try {
      this.#fileIds.push((await uploadFile(this.#deps, call.caller, upload, this.#signal)).id);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      // This version does not accept the file. Its documents are kept, as those of a deleted file.
      this.#deps.logger.warn({ job: job.id, file: file.filename, reason: error.message }, 'archived file not imported');
      const id = newId('file');
      await this.#write((sql) => appendFileId(sql, source.id, id));
      this.#fileIds.push(id);
    }
  }

  async #importPost(post: ArchivedPost): Promise<void> {
    const { source } = this.#context;
    const { key, name, text, format, metadata, fingerprint } = post;
    const row = {
      ...{ key, name, text, format, metadata, fingerprint },
      fileId: post.file === null ? null : this.#fileId(post.file),
      expiresAt: post.expires_at === null ? null : new Date(post.expires_at),
      chunkSize: post.chunk_size,
      isCancelled: post.is_cancelled,
    };
    await this.#write(async (sql) => {
      // A caller may have posted a newer version meanwhile.
      if ((await selectPostedOfKeys(sql, source.id, [key])).length === 0) await upsertPosted(sql, source.id, [row]);
    });
  }

  async #importDocuments(documents: Documents): Promise<void> {
    const { base, source, call } = this.#context;
    const keyed = documents.map((one) => ({ ...one, itemKey: this.#itemKey(one.document) }));
    const imported = await selectImported(
      this.#deps.db.sql,
      source.id,
      keyed.map(({ itemKey }) => itemKey),
    );
    const missing = keyed.filter(({ itemKey, document }) => !imported.has(JSON.stringify([itemKey, document.part])));
    if (missing.length === 0) return;
    const fingerprint = admit(this.#deps, call, { kind: 'embedding', model: base.embeddingModel }).engine.fingerprint();
    const changes = missing.map((one) => this.#toChange(one, fingerprint));
    await writeDocuments(this.#deps, { ...this.#context, fingerprint, filterKeys: this.#filterKeys }, changes);
  }

  #itemKey({ item_key, file }: Documents[number]['document']): string {
    return this.#context.source.type === 'file_upload' && file !== null ? this.#fileId(file) : item_key;
  }

  #fileId(number: number): string {
    const id = this.#fileIds[number - 1];
    if (id === undefined) throw new ArchiveError('', `refers to file ${number} of a data source, which is missing`);
    return id;
  }

  #toChange(
    { document, chunks, itemKey }: Documents[number] & { itemKey: string },
    fingerprint: string,
  ): DocumentChange {
    const { job, base, source } = this.#context;
    const row: DocumentChange['row'] = {
      id: newId('document'),
      knowledgeBaseId: base.id,
      dataSourceId: source.id,
      organizationId: job.organizationId,
      itemKey,
      part: document.part,
      fingerprint: document.fingerprint,
      seenBy: job.id,
      name: document.name,
      sourceType: document.source_type,
      sourceUri:
        document.file === null ? document.source_uri : this.#fileId(document.file) + (document.source_uri ?? ''),
      mimeType: document.mime_type,
      bytes: document.bytes,
      warnings: document.warnings,
      metadata: flattenMetadata(document.metadata),
      ownMetadata: document.own_metadata as DocumentChange['row']['ownMetadata'],
      createdAt: new Date(document.created_at),
      updatedAt: new Date(document.updated_at),
      expiresAt: document.expires_at === null ? null : new Date(document.expires_at),
    };
    const leftOutKeys = document.unfilterable_keys.filter((key) => !(key in document.metadata));
    if (document.error !== null) return { row, before: null, leftOutKeys, outcome: { error: document.error } };
    const keepsVectors = document.embedding_fingerprint === fingerprint;
    const prepared = {
      chunks: chunks.map(({ document: _, vector, ...chunk }) => ({
        ...chunk,
        id: newId('chunk'),
        vector: keepsVectors ? vector : null,
      })),
      language: document.language as Language,
      contentHash: document.content_hash,
      extractionHash: document.extraction_hash,
    };
    return { row, before: null, leftOutKeys, outcome: { prepared } };
  }

  #write(write: Parameters<typeof writeInRun>[1]): Promise<void> {
    return writeInRun({ ...this.#context, deps: this.#deps }, write);
  }
}
