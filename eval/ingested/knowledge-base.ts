import { showProgress } from '../../bench/harness/command.ts';
import { ingestFiles, type ServiceClient } from '../../bench/harness/service-client.ts';

/** A file to ingest. */
export interface EvaluatedFile {
  name: string;
  content: string;
}

/** A retrieved chunk. */
export interface FoundChunk {
  text: string;
  score: number;
  document_name: string;
  metadata: Record<string, unknown>;
}

/** A knowledge base that is filled through the API. */
export class EvaluatedBase {
  readonly #service: ServiceClient;
  readonly #id: string;

  private constructor(service: ServiceClient, id: string) {
    this.#service = service;
    this.#id = id;
  }

  /** Uploads and ingests the files. Throws when a document fails. */
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

  /** Number of chunks in the knowledge base. */
  async chunkCount(): Promise<number> {
    return (await this.#service.get<{ chunk_count: number }>(`/v1/knowledge-bases/${this.#id}`)).chunk_count;
  }

  /** Retrieves the best `count` chunks. */
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
