import { hash } from 'node:crypto';
import type { PostedContent } from '../../connectors/posted-store.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { type FileRow, selectFilesOfIds } from '../../files/store.ts';
import { requireFiles, useExistingFiles } from '../../files/use-file.ts';
import { requireScope } from '../../http/auth.ts';
import type { Call, Caller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { requireText } from '../create-knowledge-base.ts';
import { startSync } from '../data-sources/start-sync.ts';
import { type DataSourceRow, insertDataSource, selectApiSource } from '../data-sources/store.ts';
import { expectVersion, selectDocumentsOfKeys, selectPostedOfKeys, upsertPosted } from '../documents/posted-store.ts';
import { MAX_TEXT_BYTES, type PostDocument, type PostedDocument } from '../documents/schema.ts';
import { type DocumentRow, insertDocuments } from '../documents/store.ts';
import { viewDocument } from '../documents/view-document.ts';
import { findAndLockKnowledgeBase, findKnowledgeBase } from '../find-knowledge-base.ts';
import { checkMetadata } from '../metadata.ts';
import { type KnowledgeBaseRow, updateActivity } from '../store.ts';

type PostDeps = Pick<Deps, 'db' | 'jobs' | 'now'>;

/**
 * Stores a text or file as the document of a key and queues its ingestion. Searches return the version before until the
 * new one is ingested. An unchanged document gets no job. Throws 404 `knowledge_base_not_found` and `file_not_found`,
 * 400 naming the field, 403 as `startSync` does and for a file without the scope `files`.
 */
export async function postDocument(
  deps: PostDeps,
  call: Call,
  baseId: string,
  body: PostDocument,
): Promise<PostedDocument> {
  const { organizationId } = call.caller;
  const content = parseContent(body, deps.now());
  // Chunks expose the content of a file, so the key needs the scope to read it.
  if (content.fileId !== null) requireScope(call.caller, 'files', 'file_id');
  await findKnowledgeBase(deps, organizationId, baseId);
  return deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, organizationId, baseId);
    const [posted] = await storeContents(sql, deps, { caller: call.caller, base }, [{ ...content, param: 'file_id' }]);
    if (posted === undefined) throw new Error('A posted document was not stored.');
    return { ...viewDocument(posted.document), ingestion_job_id: posted.jobId };
  });
}

/**
 * Stores contents with different keys in a locked knowledge base and queues their ingestion. Returns the first document
 * of each, and the job that ingests it; null for one that has not changed. Throws 404 `file_not_found` and 403 as
 * `startSync` does.
 */
export async function storeContents(
  sql: Sql,
  deps: PostDeps,
  { caller, base }: { caller: Caller; base: KnowledgeBaseRow },
  contents: readonly Content[],
): Promise<{ document: DocumentRow; jobId: string | null }[]> {
  const { organizationId } = caller;
  const files = await requireContentFiles(sql, organizationId, contents);
  const source = await findOrAddSource(sql, deps, { organizationId, baseId: base.id });
  const posted = contents.map((content) => completeContent(content, files.get(content.fileId ?? '') ?? null));
  const keys = posted.map(({ key }) => key);
  const documents = Map.groupBy(await selectDocumentsOfKeys(sql, source.id, keys), ({ itemKey }) => itemKey);
  const before = new Map((await selectPostedOfKeys(sql, source.id, keys)).map((row) => [row.key, row.fingerprint]));
  const results = posted.map((content) => {
    const stored = documents.get(content.key) ?? [];
    const { fingerprint } = content;
    const isCurrent = (row: DocumentRow) => row.status === 'completed' && row.fingerprint === fingerprint;
    const isUnchanged = stored.length > 0 && before.get(content.key) === fingerprint && stored.every(isCurrent);
    const file = files.get(content.fileId ?? '') ?? null;
    return {
      content,
      isUnchanged,
      isNew: stored.length === 0,
      document: stored[0] ?? newRow(source, content, file, deps.now()),
    };
  });
  const changed = results.filter(({ isUnchanged }) => !isUnchanged);
  await updateActivity(sql, base.id, new Date(deps.now()));
  if (changed.length === 0) return results.map(({ document }) => ({ document, jobId: null }));
  await upsertPosted(
    sql,
    source.id,
    changed.map(({ content }) => content),
  );
  for (const [expiresAt, group] of Map.groupBy(changed, ({ content }) => content.expiresAt)) {
    await expectVersion(sql, source.id, { keys: group.map(({ content }) => content.key), expiresAt });
  }
  await insertDocuments(
    sql,
    changed.filter(({ isNew }) => isNew).map(({ document }) => document),
  );
  const job = await startSync(sql, deps, caller, source);
  await useExistingFiles(sql, organizationId, { fileIds: [...files.keys()], userId: job.id }, new Date(deps.now()));
  return results.map(({ document, content, isUnchanged }) => ({
    document: { ...document, expiresAt: content.expiresAt },
    jobId: isUnchanged ? null : job.id,
  }));
}

/** A posted document before its file is known. */
export type Content = Omit<PostedContent, 'fingerprint' | 'name' | 'isCancelled'> & {
  /** Null: the name of its file, or its key. */
  title: string | null;
  /** Path of the request field with `fileId`. */
  param: string;
};

function parseContent(body: PostDocument, nowMs: number): Omit<Content, 'param'> {
  const { text, format, file_id: fileId, title, metadata = {}, expires_at: expiresAt = null } = body;
  if (text === undefined && fileId === undefined) throw missingField('text');
  if (text !== undefined && fileId !== undefined) throw invalidValue('file_id', "must not be combined with 'text'");
  if (fileId !== undefined && format !== undefined) throw invalidValue('format', "must not be combined with 'file_id'");
  if (text !== undefined && Buffer.byteLength(text) > MAX_TEXT_BYTES) {
    throw invalidValue('text', `must have at most ${MAX_TEXT_BYTES} bytes; upload a longer one as a file`);
  }
  if (expiresAt !== null && expiresAt * 1000 <= nowMs) throw invalidValue('expires_at', 'must be in the future');
  return {
    key: requireWellFormed(requireText(body.key, 'key'), 'key'),
    title: title === undefined ? null : requireWellFormed(requireText(title, 'title'), 'title'),
    text: text === undefined ? null : requireText(text, 'text').toWellFormed(),
    format: format ?? 'text',
    fileId: fileId ?? null,
    metadata: checkMetadata(metadata, 'metadata'),
    expiresAt: expiresAt === null ? null : new Date(expiresAt * 1000),
    chunkSize: null,
  };
}

/** Two keys with different lone surrogates would be stored as the same text. */
function requireWellFormed(text: string, param: string): string {
  if (!text.isWellFormed()) throw invalidValue(param, 'must not contain lone surrogates');
  return text;
}

/** Locks the files of contents and returns them by id. */
async function requireContentFiles(sql: Sql, organizationId: string, contents: readonly Content[]) {
  const withFile = contents.flatMap(({ fileId, param }) => (fileId === null ? [] : [{ fileId, param }]));
  const fileIds = withFile.map(({ fileId }) => fileId);
  const paramAt = (index: number) => withFile[index]?.param ?? 'file_id';
  await requireFiles(sql, organizationId, { fileIds, purpose: 'knowledge-base', paramAt });
  return new Map((await selectFilesOfIds(sql, organizationId, fileIds)).map((row) => [row.id, row]));
}

function completeContent({ title, param, ...content }: Content, file: FileRow | null): PostedContent {
  const posted = { ...content, name: title ?? file?.filename ?? content.key };
  const { fileId, chunkSize, ...version } = posted;
  // An upload of the same content is the same version. Without a size, fingerprints are as in earlier versions.
  const source = {
    file: file === null ? null : [file.sha256, file.filename],
    ...(chunkSize !== null && { chunkSize }),
  };
  const fingerprint = hash('sha256', JSON.stringify({ ...version, ...source }));
  return { ...posted, isCancelled: false, fingerprint };
}

/** Returns the data source of the posted documents of a locked knowledge base; adds it if it does not exist. */
async function findOrAddSource(
  sql: Sql,
  { now }: Pick<Deps, 'now'>,
  { organizationId, baseId }: { organizationId: string; baseId: string },
): Promise<DataSourceRow> {
  const stored = await selectApiSource(sql, baseId);
  if (stored !== null) return stored;
  const at = new Date(now());
  const row: DataSourceRow = {
    id: newId('dataSource'),
    knowledgeBaseId: baseId,
    organizationId,
    type: 'api',
    name: 'API',
    config: {},
    sealedSecrets: null,
    status: 'active',
    documentCount: 0,
    createdAt: at,
    updatedAt: at,
    lastSyncedAt: null,
    error: null,
  };
  await insertDataSource(sql, row);
  return row;
}

/** The row of a document that has not been ingested. */
function newRow(source: DataSourceRow, posted: PostedContent, file: FileRow | null, nowMs: number): DocumentRow {
  const at = new Date(nowMs);
  return {
    id: newId('document'),
    knowledgeBaseId: source.knowledgeBaseId,
    dataSourceId: source.id,
    organizationId: source.organizationId,
    itemKey: posted.key,
    part: '',
    fingerprint: '',
    seenBy: '',
    name: posted.name,
    sourceType: source.type,
    sourceUri: posted.fileId,
    mimeType: null,
    bytes: file?.bytes ?? Buffer.byteLength(posted.text ?? ''),
    contentHash: null,
    extractionHash: null,
    chunkCount: 0,
    status: 'processing',
    error: null,
    warnings: [],
    metadata: {},
    ownMetadata: null,
    unfilterableKeys: [],
    embeddingFingerprint: null,
    language: 'none',
    createdAt: at,
    updatedAt: at,
    expiresAt: posted.expiresAt,
  };
}
