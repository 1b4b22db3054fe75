import { showProgress } from '../../bench/harness/command.ts';
import { processTree, processUsage } from '../../bench/harness/process-usage.ts';
import { ingestFiles, type ServedJob, type ServiceClient, ServiceError } from '../../bench/harness/service-client.ts';
import type { InputFile } from './inputs.ts';

/** Objects per list page. */
const PAGE = 100;

/** Error of a file or document. */
export interface Fault {
  code: string;
  message: string;
}

/** An uploaded file: its id, or the error of the upload. */
export type Sent = { file: InputFile } & ({ id: string } | { refusal: Fault });

/** A document object of the API. */
export interface ListedDocument {
  id: string;
  name: string;
  source_uri: string;
  status: string;
  chunk_count: number;
  error: Fault | null;
}

/** A document in the details of a job. */
export interface Detail {
  document_id: string;
  status: string;
  chunks_created: number;
  error: Fault | null;
}

/** Result of a finished ingestion. */
export interface IngestionResult {
  base: string;
  source: string;
  job: ServedJob;
  details: Detail[];
  documents: ListedDocument[];
  seconds: number;
  /** Peak memory of the service's processes; null for a service on another machine. */
  peakMb: number | null;
}

/** Uploads files sequentially under their own names. */
export async function uploadFiles(service: ServiceClient, files: readonly InputFile[]): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (const file of files) {
    showProgress(sent.length, files.length, 'uploaded');
    try {
      sent.push({ file, id: await service.upload(file.name, file.bytes, 'knowledge-base') });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      sent.push({ file, refusal: { code: error.code ?? 'none', message: error.reason ?? error.message } });
    }
  }
  return sent;
}

/** Ingests files into a new knowledge base with one data source, and collects the results. */
export async function ingest(service: ServiceClient, fileIds: readonly string[]): Promise<IngestionResult> {
  const { id: base } = await service.post<{ id: string }>('/v1/knowledge-bases', { name: 'every document' });
  const path = `/v1/knowledge-bases/${base}`;
  const started = performance.now();
  let peak = 0;
  const { sourceId: source, job } = await ingestFiles(service, base, fileIds, (state) => {
    peak = Math.max(peak, residentBytes(service) ?? 0);
    const done = state.documents_processed + state.documents_failed;
    showProgress(done, Math.max(done, fileIds.length), 'ingested');
  });
  const seconds = (performance.now() - started) / 1000;
  const details = await detailsOf(service, `${path}/ingestion-jobs/${job.id}`);
  const documents = await documentsOf(service, path);
  return { base, source, job, details, documents, seconds, peakMb: service.own === null ? null : peak / 1e6 };
}

/** Lists all documents of the knowledge base at `path`. */
export async function documentsOf(service: ServiceClient, path: string): Promise<ListedDocument[]> {
  const documents: ListedDocument[] = [];
  for (let after = ''; ; ) {
    const query = `?limit=${PAGE}${after && `&after=${after}`}`;
    const page = await service.get<{ data: ListedDocument[]; has_more: boolean }>(`${path}/documents${query}`);
    documents.push(...page.data);
    if (!page.has_more) return documents;
    after = documents.at(-1)?.id ?? '';
  }
}

async function detailsOf(service: ServiceClient, path: string): Promise<Detail[]> {
  const details: Detail[] = [];
  for (let after = ''; ; ) {
    const query = after && `?details_after=${after}`;
    const page = await service.get<{ document_details: Detail[]; document_details_has_more: boolean }>(
      `${path}${query}`,
    );
    details.push(...page.document_details);
    if (!page.document_details_has_more) return details;
    after = details.at(-1)?.document_id ?? '';
  }
}

function residentBytes({ own }: ServiceClient): number | null {
  return own === null ? null : (processUsage(processTree(own.pid))?.rssBytes ?? null);
}
