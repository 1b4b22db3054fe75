import { showProgress } from '../../bench/harness/command.ts';
import { ingestFiles, type ServiceClient } from '../../bench/harness/service-client.ts';

/** A document to ingest: a file of its own. */
export interface EvaluatedFile {
  name: string;
  content: string;
}

/** A chunk that the service has found. */
export interface FoundChunk {
  text: string;
  score: number;
  document_name: string;
  metadata: Record<string, unknown>;
}

/** A knowledge base that was filled through the API: files uploaded, a data source made, its ingestion waited for. */
export class EvaluatedBase {
  readonly #service: ServiceClient;
  readonly #id: string;

  private constructor(service: ServiceClient, id: string) {
    this.#service = service;
    this.#id = id;
  }

  /** Throws when a document could not be ingested. */
  static async fill(
    service: ServiceClient,
    files: readonly EvaluatedFile[],
    chunking: { type: string; chunk_size: number; chunk_overlap: number },
  ): Promise<EvaluatedBase> {
    const body = { name: 'evaluation', chunking_strategy: chunking };
    const { id } = await service.post<{ id: string }>('/v1/knowledge-bases', body);
    const fileIds: string[] = [];
    for (const { name, content } of files) fileIds.push(await service.upload(name, content, 'knowledge-base'));
    const { job } = await ingestFiles(service, id, fileIds, ({ documents_processed: done }) =>
      showProgress(done, Math.max(done, files.length), 'documents'),
    );
    if (job.status === 'failed' || job.documents_failed > 0)
      throw new Error(`the ingestion failed: ${JSON.stringify(job)}`);
    return new EvaluatedBase(service, id);
  }

  /** Chunks that the knowledge base has. */
  async chunkCount(): Promise<number> {
    return (await this.#service.get<{ chunk_count: number }>(`/v1/knowledge-bases/${this.#id}`)).chunk_count;
  }

  /** The best `count` chunks. */
  async retrieve(
    query: string,
    count: number,
    wanted: { search_type: string; rerank?: boolean },
  ): Promise<FoundChunk[]> {
    const body = { query, top_k: count, ...wanted };
    return (await this.#service.post<{ results: FoundChunk[] }>(`/v1/knowledge-bases/${this.#id}/retrieve`, body))
      .results;
  }
}
