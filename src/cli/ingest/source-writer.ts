import { encodeTime } from 'ulid';
import type { ApiClient } from '../api-client.ts';
import type { NamedBase } from '../knowledge-base.ts';
import type { SourcePart } from './part-sources.ts';
import { removeFiles } from './remove-files.ts';
import type { Uploaded } from './uploader.ts';

/** A job that reads what has been uploaded. */
export interface StartedJob {
  sourceId: string;
  jobId: string;
  /** Documents that it will read; null where it was there already and may have read some. */
  expected: number | null;
  /** Files of its source. */
  files: number;
}

/** The knowledge base that files go to. It is made when there is something to put into it. */
export interface TargetBase {
  id: string | null;
  name: string;
}

/** The fields of a data source that are read here. */
interface SourceObject {
  id: string;
  updated_at: number;
}

/** What the writing of one part works with. */
export interface PartUploads {
  part: SourcePart;
  /** What was uploaded for the part, in the order of its wanted documents; null for those that failed. */
  uploaded: readonly (Uploaded | null)[];
}

/** Puts uploaded files into data sources, and takes those out that are gone. */
export class SourceWriter {
  /** Files that no data source of the folder has any more. They can be deleted when the jobs have ended. */
  readonly replaced: string[] = [];
  readonly #api: ApiClient;
  readonly #base: TargetBase;
  readonly #name: string;
  /** The knowledge base that was made here and holds nothing yet. */
  #madeBase: string | null = null;

  /** `name` is the data source's. */
  constructor(api: ApiClient, base: TargetBase, name: string) {
    this.#api = api;
    this.#base = base;
    this.#name = name;
  }

  /**
   * Makes, changes, syncs or deletes one data source. Gives the job that reads it; null where there is none to read. When a new one cannot
   * be made, what was uploaded for it is deleted again, and so is a knowledge base that was made for it.
   */
  async write({ part, uploaded }: PartUploads): Promise<StartedJob | null> {
    const { source, unchanged, gone, wanted } = part;
    // What could not be uploaded stays as it was.
    const changed = wanted.map(({ replaces }, at) => uploaded[at]?.id ?? replaces?.id);
    const fileIds = [...unchanged.map(({ id }) => id), ...changed].filter((id) => id !== undefined);
    const expected = uploaded.reduce((sum, one) => sum + (one?.documents ?? 0), 0);
    if (source === null && fileIds.length === 0) return null;
    const started = await this.#apply(source, fileIds).catch(async (error: unknown) => {
      await removeFiles(
        this.#api,
        uploaded.flatMap((one) => one?.id ?? []),
      );
      throw error;
    });
    const replacedOnes = wanted.filter((_, at) => uploaded[at] != null).flatMap(({ replaces }) => replaces?.id ?? []);
    this.replaced.push(...gone.map(({ id }) => id), ...replacedOnes);
    if (started === null) return null;
    return { ...started, expected: started.isJoined ? null : expected, files: fileIds.length };
  }

  async #apply(source: SourcePart['source'], fileIds: readonly string[]) {
    if (source === null) return this.#create(fileIds);
    const path = `${this.#sources()}/${source.id}`;
    if (fileIds.length === 0) {
      await this.#api.send('DELETE', path);
      return null;
    }
    const isSame = new Set(fileIds).symmetricDifference(new Set(source.fileIds)).size === 0;
    if (isSame) return { sourceId: source.id, jobId: await this.#sync(source.id), isJoined: true };
    const changed = await this.#api.json<SourceObject>('PATCH', path, { config: { file_ids: fileIds } });
    return { sourceId: source.id, jobId: await this.#jobOf(changed), isJoined: false };
  }

  async #create(fileIds: readonly string[]) {
    try {
      if (this.#base.id === null) await this.#makeBase();
      const body = { type: 'file_upload', name: this.#name, config: { file_ids: fileIds } };
      const source = await this.#api.json<SourceObject>('POST', this.#sources(), body);
      const started = { sourceId: source.id, jobId: await this.#jobOf(source), isJoined: false };
      this.#madeBase = null;
      return started;
    } catch (error) {
      if (this.#madeBase !== null) {
        await this.#api.send('DELETE', `/v1/knowledge-bases/${this.#madeBase}`).catch(() => {});
        this.#madeBase = null;
        this.#base.id = null;
      }
      throw error;
    }
  }

  /** Of commands that make a knowledge base of one name at once, the first one's is taken by all. */
  async #makeBase(): Promise<void> {
    const { name } = this.#base;
    const { id } = await this.#api.json<NamedBase>('POST', '/v1/knowledge-bases', { name });
    this.#base.id = id;
    this.#madeBase = id;
    // The list is in the order of their making.
    for await (const base of this.#api.list<NamedBase>('/v1/knowledge-bases')) {
      if (base.id === id) return;
      if (base.name !== name) continue;
      await this.#api.send('DELETE', `/v1/knowledge-bases/${id}`);
      this.#base.id = base.id;
      this.#madeBase = null;
      return;
    }
  }

  /** The job that a change of the source has started, or one that waited already. */
  async #jobOf({ id, updated_at }: SourceObject): Promise<string> {
    // Ids begin with their time, and any is a cursor: the list begins with the second of the change.
    const after = `job_${encodeTime(updated_at * 1000).toLowerCase()}${'0'.repeat(16)}`;
    const jobs = this.#api.list<{ id: string; data_source_id: string }>(
      `/v1/knowledge-bases/${this.#base.id}/ingestion-jobs`,
      { after },
    );
    let newest: string | null = null;
    // An earlier one may be of the same second.
    for await (const job of jobs) if (job.data_source_id === id) newest = job.id;
    return newest ?? this.#sync(id);
  }

  /** A job that runs or waits already, or a new one. */
  async #sync(sourceId: string): Promise<string> {
    return (await this.#api.json<{ id: string }>('POST', `${this.#sources()}/${sourceId}/sync`)).id;
  }

  #sources(): string {
    return `/v1/knowledge-bases/${this.#base.id}/data-sources`;
  }
}
