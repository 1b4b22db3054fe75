import { createHash } from 'node:crypto';
import { CONNECTORS } from '../../connectors/index.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, invalidValue } from '../../errors.ts';
import { deleteOrphanedBlob } from '../../files/orphaned-blobs.ts';
import { insertFileUses } from '../../files/store.ts';
import { commitFile, type StoredContent, storeContent } from '../../files/store-content.ts';
import { requireScope } from '../../http/auth.ts';
import { type FormSource, type IncomingForm, readForm } from '../../http/multipart.ts';
import { resolveModel } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { createKnowledgeBase, requireCreation, requireText } from '../create-knowledge-base.ts';
import { parseImportedConfig } from '../data-sources/source-config.ts';
import { type DataSourceRow, insertDataSource } from '../data-sources/store.ts';
import { markIndexing } from '../ingestion/re-embedding-store.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { insertJob, newJobRow } from '../jobs/store.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { ArchiveError } from './archive-error.ts';
import { MAX_ARCHIVE_BYTES, type Manifest } from './format.ts';
import { inspectArchive } from './inspect-archive.ts';
import type { ImportedKnowledgeBase } from './schema.ts';

type ImportDeps = Pick<Deps, 'db' | 'blobs' | 'jobs' | 'models' | 'logger' | 'now'>;

const FORM_RULES = { file: 'file', maxFileBytes: MAX_ARCHIVE_BYTES, fields: ['name', 'embedding_model'] } as const;

/** A created knowledge base, and the SHA-256 of its archive with the fields of the form. */
export interface Import {
  response: ImportedKnowledgeBase;
  identity: string;
}

/**
 * Stores an archive while it arrives and checks it, creates its knowledge base with new ids, and queues one import job
 * for each data source. Throws 400 naming the part of an invalid archive, 403 without the scope `files`, 404
 * `model_not_found`, and the errors of `readForm`: then nothing exists.
 */
export function importKnowledgeBase(
  deps: ImportDeps,
  call: Call,
  source: FormSource,
  signal: AbortSignal,
): Promise<Import> {
  requireScope(call.caller, 'files');
  requireCreation(call.caller);
  return readForm(source, FORM_RULES, signal, async (form) => {
    const received: { manifest?: Manifest } = {};
    const content = inspectArchive(form.content, call.caller.organizationId, (manifest) => {
      checkManifest(deps, call, form, manifest);
      received.manifest = manifest;
    });
    const stored = await storeContent(deps, asRequestErrors(content), signal);
    try {
      const { manifest } = received;
      if (manifest === undefined) throw new Error('an archive was accepted without a manifest');
      const response = await createImported(deps, call, { manifest, form, stored });
      return { response, identity: identify(stored.sha256, form) };
    } catch (error) {
      await deleteOrphanedBlob(deps, stored.blobKey);
      throw error;
    }
  });
}

/** Returns the identity of an import without executing it. */
export function identifyImport(source: FormSource, signal: AbortSignal): Promise<string> {
  return readForm(source, FORM_RULES, signal, async (form) => {
    const hash = createHash('sha256');
    for await (const bytes of form.content) hash.update(bytes);
    return identify(hash.digest('hex'), form);
  });
}

const identify = (sha256: string, { fields }: IncomingForm): string =>
  JSON.stringify([sha256, fields.get('name'), fields.get('embedding_model')]);

/** Fails before the documents are uploaded. */
function checkManifest(deps: ImportDeps, { caller }: Call, { fields }: IncomingForm, manifest: Manifest): void {
  const { knowledge_base: base, data_sources: sources } = manifest;
  const model = fields.get('embedding_model') ?? base.embedding_model;
  resolveModel(deps, caller, { kind: 'embedding', model, param: 'embedding_model' });
  const name = fields.get('name');
  if (name !== undefined) requireText(name, 'name');
  if (sources.filter(({ type }) => type === 'api').length > 1) {
    throw new ArchiveError('manifest', "has several data sources of the type 'api'");
  }
  for (const [index, { type, config }] of sources.entries()) {
    try {
      parseImportedConfig(type, config);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new ArchiveError('manifest', `has an invalid data source ${index + 1}: ${error.message}`, error);
    }
  }
}

async function createImported(
  deps: ImportDeps,
  call: Call,
  { manifest, form, stored }: { manifest: Manifest; form: IncomingForm; stored: StoredContent },
): Promise<ImportedKnowledgeBase> {
  const { knowledge_base: archived, data_sources: archivedSources } = manifest;
  const { expires_after_days: expiresAfterDays, embedding_fingerprint: _, ...fields } = archived;
  const body = {
    ...fields,
    name: form.fields.get('name') ?? archived.name,
    embedding_model: form.fields.get('embedding_model') ?? archived.embedding_model,
  };
  let sources: ImportedKnowledgeBase['data_sources'] = [];
  const addFiles = async (sql: Sql, base: KnowledgeBaseRow) => {
    if (archivedSources.length === 0) return;
    const fileId = await insertArchive(sql, deps, call, { stored, name: base.name });
    const rows = archivedSources.map((source) => newSource(base, source, new Date(deps.now())));
    sources = [];
    for (const [index, row] of rows.entries()) {
      await insertDataSource(sql, row);
      const jobId = await queueImport(sql, deps, call, { row, archive: { fileId, source: index + 1 } });
      const needs_credentials = CONNECTORS[row.type].secretFields.length > 0;
      sources.push({ id: row.id, type: row.type, name: row.name, ingestion_job_id: jobId, needs_credentials });
    }
    await markIndexing(sql, base.id);
  };
  const base = await createKnowledgeBase(deps, call, body, { expiresAfterDays, addFiles });
  if (sources.length === 0) await deleteOrphanedBlob(deps, stored.blobKey);
  const status = sources.length === 0 ? base.status : 'indexing';
  return { object: 'knowledge_base_import', knowledge_base: { ...base, status }, data_sources: sources };
}

/** Keeps the archive as a file, which the jobs use, and which is deleted after them. */
async function insertArchive(
  sql: Sql,
  deps: Pick<Deps, 'now'>,
  { caller }: Call,
  { stored, name }: { stored: StoredContent; name: string },
): Promise<string> {
  const id = newId('file');
  await commitFile(sql, {
    id,
    organizationId: caller.organizationId,
    createdBy: caller.keyId,
    privateTo: null,
    filename: `${name.replaceAll(/[/\\]/g, '-')}.tar`,
    purpose: 'archive',
    ...stored,
    status: 'uploaded',
    statusDetails: null,
    expiresAt: null,
    createdAt: new Date(deps.now()),
  });
  return id;
}

function newSource(base: KnowledgeBaseRow, source: Manifest['data_sources'][number], at: Date): DataSourceRow {
  const { type, name } = source;
  return {
    id: newId('dataSource'),
    knowledgeBaseId: base.id,
    organizationId: base.organizationId,
    type,
    name: requireText(name, 'file'),
    // The job adds the files.
    config: { ...parseImportedConfig(type, source.config), ...(type === 'file_upload' && { file_ids: [] }) },
    sealedSecrets: null,
    status: 'processing',
    documentCount: 0,
    createdAt: at,
    updatedAt: at,
    lastSyncedAt: null,
    error: null,
  };
}

async function queueImport(
  sql: Sql,
  deps: Pick<Deps, 'jobs' | 'now'>,
  { caller }: Call,
  { row, archive }: { row: DataSourceRow; archive: { fileId: string; source: number } },
): Promise<string> {
  const at = new Date(deps.now());
  const id = newId('ingestionJob');
  await insertJob(sql, newJobRow({ id, kind: 'import', source: row, keyId: caller.keyId, createdAt: at }));
  const { organizationId } = row;
  const data = { jobId: id, archive: { ...archive, organizationId } };
  await deps.jobs.enqueue(sql, INGEST_SOURCE, data, { key: row.id, group: organizationId });
  await insertFileUses(sql, [archive.fileId], id, at);
  return id;
}

async function* asRequestErrors(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    const message = error.message.charAt(0).toLowerCase() + error.message.slice(1).replace(/\.$/, '');
    throw invalidValue('file', `cannot be imported: ${message}`);
  }
}
