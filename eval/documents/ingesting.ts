import { showProgress } from '../../bench/harness/command.ts';
import { processTree, processUsage } from '../../bench/harness/process-usage.ts';
import { ingestFiles, type ServedJob, type ServiceClient, ServiceError } from '../../bench/harness/service-client.ts';
import type { InputFile } from './inputs.ts';

/** Objects of one page of a list. */
const PAGE = 100;

/** What is wrong with a file or a document. */
export interface Fault {
  code: string;
  message: string;
}

/** A file that was sent to the service: its id, or why it was refused. */
export type Sent = { file: InputFile } & ({ id: string } | { refusal: Fault });

/** A document, as the API shows it. */
export interface ListedDocument {
  id: string;
  name: string;
  source_uri: string;
  status: string;
  chunk_count: number;
  error: Fault | null;
}

/** What the job says of a document. */
export interface Detail {
  document_id: string;
  status: string;
  chunks_created: number;
  error: Fault | null;
}

/** An ingestion that has ended. */
export interface Ingestion {
  base: string;
  source: string;
  job: ServedJob;
  details: Detail[];
  documents: ListedDocument[];
  seconds: number;
  /** The most that the service's processes had at once; null where they are on another machine. */
  peakMb: number | null;
}

/** Uploads files one after the other, each with its own name. */
export async function send(service: ServiceClient, files: readonly InputFile[]): Promise<Sent[]> {
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

/** Puts files into one data source of a new knowledge base, waits for its job, and asks what came of it. */
export async function ingest(service: ServiceClient, fileIds: readonly string[]): Promise<Ingestion> {
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

/** All documents of the knowledge base at `path`. */
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
