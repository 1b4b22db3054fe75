import { encodeTime } from 'ulid';
import type { DataSource } from '../../knowledge-bases/data-sources/schema.ts';
import type { IngestionJob } from '../../knowledge-bases/jobs/schema.ts';
import type { ApiClient } from '../api-client.ts';
import { createKnowledgeBaseOnce } from '../knowledge-base.ts';
import { deleteFiles } from './delete-files.ts';
import type { SourcePlan } from './plan-sources.ts';
import type { UploadedFile } from './uploader.ts';

/** An ingestion job of uploaded files. */
export interface StartedJob {
  sourceId: string;
  jobId: string;
  /** Number of documents to ingest; null for a job that already existed, which may have ingested some. */
  expected: number | null;
  /** Number of files of the data source. */
  files: number;
}

/** The target knowledge base. `id` is null until it is created for the first data source. */
export interface TargetKnowledgeBase {
  id: string | null;
  name: string;
}

/** The plan of one data source with the uploads for it. */
export interface PlanUploads {
  plan: SourcePlan;
  /** Results of `plan.uploads`, in order; null for failed uploads. */
  uploaded: readonly (UploadedFile | null)[];
}

/** Creates, updates and deletes data sources so that they contain the uploaded files. */
export class SourceWriter {
  /** Ids of files that no data source of the folder contains any more, to be deleted when the jobs have ended. */
  readonly replacedIds: string[] = [];
  readonly #api: ApiClient;
  readonly #base: TargetKnowledgeBase;
  readonly #name: string;
  /** Id of the knowledge base created here, while it has no data source. */
  #createdBase: string | null = null;

  /** `name` is the name of the data source. */
  constructor(api: ApiClient, base: TargetKnowledgeBase, name: string) {
    this.#api = api;
    this.#base = base;
    this.#name = name;
  }

  /**
   * Creates, updates, syncs or deletes one data source. Returns its job, or null when there is nothing to ingest. When
   * a data source cannot be created, deletes the files uploaded for it and the knowledge base created for it.
   */
  async write({ plan, uploaded }: PlanUploads): Promise<StartedJob | null> {
    const { source, unchanged, gone, uploads } = plan;
    // A failed upload keeps the earlier file.
    const changed = uploads.map(({ replaces }, at) => uploaded[at]?.id ?? replaces?.id);
    const fileIds = [...unchanged.map(({ id }) => id), ...changed].filter((id) => id !== undefined);
    const expected = uploaded.reduce((sum, one) => sum + (one?.documents ?? 0), 0);
    if (source === null && fileIds.length === 0) return null;
    const started = await this.#apply(source, fileIds).catch(async (error: unknown) => {
      await deleteFiles(
        this.#api,
        uploaded.flatMap((one) => one?.id ?? []),
      );
      throw error;
    });
    const replacedByUpload = uploads
      .filter((_, at) => uploaded[at] != null)
      .flatMap(({ replaces }) => replaces?.id ?? []);
    this.replacedIds.push(...gone.map(({ id }) => id), ...replacedByUpload);
    if (started === null) return null;
    return { ...started, expected: started.isJoined ? null : expected, files: fileIds.length };
  }

  async #apply(source: SourcePlan['source'], fileIds: readonly string[]) {
    if (source === null) return this.#create(fileIds);
    const path = `${this.#sources()}/${source.id}`;
    if (fileIds.length === 0) {
      await this.#api.send('DELETE', path);
      return null;
    }
    const isSame = new Set(fileIds).symmetricDifference(new Set(source.fileIds)).size === 0;
    if (isSame) return { sourceId: source.id, jobId: await this.#sync(source.id), isJoined: true };
    const changed = await this.#api.json<DataSource>('PATCH', path, { config: { file_ids: fileIds } });
    return { sourceId: source.id, jobId: await this.#findJob(changed), isJoined: false };
  }

  async #create(fileIds: readonly string[]) {
    try {
      if (this.#base.id === null) await this.#createBase();
      const body = { type: 'file_upload', name: this.#name, config: { file_ids: fileIds } };
      const source = await this.#api.json<DataSource>('POST', this.#sources(), body);
      const started = { sourceId: source.id, jobId: await this.#findJob(source), isJoined: false };
      this.#createdBase = null;
      return started;
    } catch (error) {
      if (this.#createdBase !== null) {
        await this.#deleteEmptyBase(this.#createdBase).catch(() => {});
        this.#createdBase = null;
        this.#base.id = null;
      }
      throw error;
    }
  }

  /** Creates the knowledge base, or uses a knowledge base of that name that a concurrent command creates. */
  async #createBase(): Promise<void> {
    const { id, isNew } = await createKnowledgeBaseOnce(this.#api, this.#base.name);
    this.#base.id = id;
    if (isNew) this.#createdBase = id;
  }

  /** Deletes the knowledge base unless a concurrent command has added a data source. */
  async #deleteEmptyBase(id: string): Promise<void> {
    const { data } = await this.#api.json<{ data: unknown[] }>('GET', `${this.#sources()}?limit=1`);
    if (data.length === 0) await this.#api.send('DELETE', `/v1/knowledge-bases/${id}`);
  }

  /** Finds the job started by a change of the data source, or one that was queued already. */
  async #findJob({ id, updated_at }: DataSource): Promise<string> {
    // Ids start with their creation time, and any well-formed id is a cursor: lists from the second of the change.
    const after = `job_${encodeTime(updated_at * 1000).toLowerCase()}${'0'.repeat(16)}`;
    const jobs = this.#api.list<IngestionJob>(`/v1/knowledge-bases/${this.#base.id}/ingestion-jobs`, { after });
    let newest: string | null = null;
    // An earlier job can have the same second.
    for await (const job of jobs) if (job.data_source_id === id) newest = job.id;
    return newest ?? this.#sync(id);
  }

  /** Starts a sync; returns the id of the running or queued job if there is one. */
  async #sync(sourceId: string): Promise<string> {
    return (await this.#api.json<{ id: string }>('POST', `${this.#sources()}/${sourceId}/sync`)).id;
  }

  #sources(): string {
    return `/v1/knowledge-bases/${this.#base.id}/data-sources`;
  }
}
