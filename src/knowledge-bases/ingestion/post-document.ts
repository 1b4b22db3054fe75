import { hash } from 'node:crypto';
import type { PostedContent } from '../../connectors/posted-store.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { type FileRow, selectFile } from '../../files/store.ts';
import { requireFiles, useExistingFiles } from '../../files/use-file.ts';
import { requireScope } from '../../http/auth.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { requireText } from '../create-knowledge-base.ts';
import { startSync } from '../data-sources/start-sync.ts';
import { type DataSourceRow, insertDataSource, selectApiSource } from '../data-sources/store.ts';
import { expectVersion, selectDocumentsOfKey, selectPosted, upsertPosted } from '../documents/posted-store.ts';
import { MAX_TEXT_BYTES, type PostDocument, type PostedDocument } from '../documents/schema.ts';
import { type DocumentRow, insertDocument } from '../documents/store.ts';
import { viewDocument } from '../documents/view-document.ts';
import { findAndLockKnowledgeBase, findKnowledgeBase } from '../find-knowledge-base.ts';
import { checkMetadata } from '../metadata.ts';

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
    const file = content.fileId === null ? null : await requireFile(sql, organizationId, content.fileId);
    const source = await findOrAddSource(sql, deps, { organizationId, baseId: base.id });
    const posted = completeContent(content, file);
    const stored = await selectDocumentsOfKey(sql, source.id, posted.key);
    if ((await selectPosted(sql, source.id, posted.key))?.fingerprint === posted.fingerprint) {
      const [document] = stored;
      const isIngested = stored.every(
        ({ status, fingerprint }) => status === 'completed' && fingerprint === posted.fingerprint,
      );
      if (document !== undefined && isIngested) return { ...viewDocument(document), ingestion_job_id: null };
    }
    await upsertPosted(sql, { ...posted, dataSourceId: source.id });
    await expectVersion(sql, source.id, posted);
    const document = stored[0] ?? newRow(source, posted, file, deps.now());
    if (stored.length === 0) await insertDocument(sql, document);
    const job = await startSync(sql, deps, call.caller, source);
    const use = { fileIds: file === null ? [] : [file.id], userId: job.id };
    await useExistingFiles(sql, organizationId, use, new Date(deps.now()));
    return { ...viewDocument({ ...document, expiresAt: posted.expiresAt }), ingestion_job_id: job.id };
  });
}

/** A posted document before its file is known. */
type Content = Omit<PostedContent, 'fingerprint' | 'name'> & { title: string | null };

function parseContent(body: PostDocument, nowMs: number): Content {
  const { text, format, file_id: fileId, title, metadata = {}, expires_at: expiresAt = null } = body;
  if (text === undefined && fileId === undefined) throw missingField('text');
  if (text !== undefined && fileId !== undefined) throw invalidValue('file_id', "must not be sent beside 'text'");
  if (fileId !== undefined && format !== undefined) throw invalidValue('format', "must not be sent beside 'file_id'");
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
  };
}

/** Two keys with different lone surrogates would be stored as the same text. */
function requireWellFormed(text: string, param: string): string {
  if (!text.isWellFormed()) throw invalidValue(param, 'must not contain lone surrogates');
  return text;
}

async function requireFile(sql: Sql, organizationId: string, id: string): Promise<FileRow | null> {
  await requireFiles(sql, organizationId, { fileIds: [id], purpose: 'knowledge-base', paramAt: () => 'file_id' });
  return selectFile(sql, organizationId, id);
}

function completeContent({ title, ...content }: Content, file: FileRow | null): PostedContent {
  const posted = { ...content, name: title ?? file?.filename ?? content.key };
  const { fileId, ...version } = posted;
  // An upload of the same content is the same version.
  const json = JSON.stringify({ ...version, file: file === null ? null : [file.sha256, file.filename] });
  return { ...posted, fingerprint: hash('sha256', json) };
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
