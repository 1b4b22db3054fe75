import { setTimeout as pause } from 'node:timers/promises';
import { progress } from '../progress.ts';
import type { Service } from '../start-service.ts';

/** How often an ingestion is asked whether it has ended. */
const POLL_MS = 300;

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

interface Job {
  status: string;
  documents_processed: number;
  documents_failed: number;
  data_source_id: string;
}

/** A knowledge base that was filled through the API: files uploaded, a data source made, its ingestion waited for. */
export class EvaluatedBase {
  readonly #service: Service;
  readonly #id: string;

  private constructor(service: Service, id: string) {
    this.#service = service;
    this.#id = id;
  }

  /** Throws when a document could not be ingested. */
  static async fill(
    service: Service,
    files: readonly EvaluatedFile[],
    chunking: { type: string; chunk_size: number; chunk_overlap: number },
  ): Promise<EvaluatedBase> {
    const body = { name: 'evaluation', chunking_strategy: chunking };
    const { id } = await service.ask<{ id: string }>('/v1/knowledge-bases', body);
    const fileIds: string[] = [];
    for (const { name, content } of files) fileIds.push(await service.upload(name, content, 'knowledge-base'));
    const path = `/v1/knowledge-bases/${id}`;
    await service.ask(`${path}/data-sources`, { type: 'file_upload', config: { file_ids: fileIds } });
    for (;;) {
      const { data } = await service.get<{ data: Job[] }>(`${path}/ingestion-jobs`);
      const [job] = data;
      if (job === undefined) throw new Error('the data source has no ingestion job');
      progress(job.documents_processed, Math.max(job.documents_processed, files.length), 'documents');
      if (job.status === 'failed' || job.documents_failed > 0)
        throw new Error(`the ingestion failed: ${JSON.stringify(job)}`);
      if (job.status === 'completed') return new EvaluatedBase(service, id);
      await pause(POLL_MS);
    }
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
    return (await this.#service.ask<{ results: FoundChunk[] }>(`/v1/knowledge-bases/${this.#id}/retrieve`, body))
      .results;
  }
}
