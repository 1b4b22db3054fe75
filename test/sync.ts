/** Data sources through the whole path: created by the API, ingested by a worker, found by retrieval. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Config } from '../src/config/config.ts';
import { startIngestion } from '../src/knowledge-bases/ingestion/ingestion-worker.ts';
import { INGEST_SOURCE } from '../src/knowledge-bases/jobs/ingest-job.ts';
import { withDeadline } from './deadline.ts';
import { bundledEmbedder, embeddedBy } from './embedder.ts';
import { startApi, type TestApi } from './harness.ts';

const POLL_MS = 20;
/** A job with retries of the service, on a busy machine. */
const JOB_SECONDS = 60;

/** A knowledge base with one data source. */
export interface SyncedSource {
  id: string;
  /** Path of the data source. */
  path: string;
  /** The job of the creation. */
  first: Json;
  /** Runs a sync and returns its job with details. */
  sync(): Promise<Json>;
  /** Changes the config and returns the job of the sync that this starts. */
  change(config: object): Promise<Json>;
  source(): Promise<Json>;
  /** Documents sorted by name. */
  documents(): Promise<Json[]>;
  find(query: string, body?: object): Promise<Json[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
type Json = any;

/** An API whose worker runs ingestion jobs, and which may reach 127.0.0.1 unless `more` names other private hosts. */
export function useSync(more: Partial<Config> = {}) {
  const engine = bundledEmbedder();
  const dataDir = mkdtempSync(join(tmpdir(), 'quire-sync-'));
  const api = {} as TestApi;
  let close = async () => {};
  before(async () => {
    const config = { allowPrivateHosts: ['127.0.0.1'], dataDir, ...more };
    const started = await startApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], config });
    Object.assign(api, started.api);
    const worker = startIngestion(api.deps);
    api.deps.jobs.work(INGEST_SOURCE, worker.run);
    close = async () => {
      await started.close();
      await worker.stop();
    };
  });
  after(async () => {
    await close();
    await engine.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const probe = async (body: object) => {
    const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
    return api.send('POST', `/v1/knowledge-bases/${base}/data-sources/test`, { body });
  };
  return {
    api,
    create: (body: object) => createSource(api, body),
    /** Sends the request that tests a data source without storing it, and returns the response. */
    probe,
  };
}

/** Creates a knowledge base with the data source and waits for its first job. */
async function createSource(api: TestApi, body: object): Promise<SyncedSource> {
  const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
  const root = `/v1/knowledge-bases/${base}`;
  const created = await api.send('POST', `${root}/data-sources`, { body });
  if (created.status !== 200) throw new Error(created.text);
  const path = `${root}/data-sources/${created.json.id}`;
  const finished = (id: string) =>
    withDeadline(`the job ${id}`, waitForJob(api, `${root}/ingestion-jobs/${id}`), JOB_SECONDS);
  const [job] = (await api.send('GET', `${root}/ingestion-jobs`)).json.data;
  return {
    id: created.json.id,
    path,
    first: await finished(job.id),
    sync: async () => finished((await api.send('POST', `${path}/sync`)).json.id),
    change: async (config) => {
      const changed = await api.send('PATCH', path, { body: { config } });
      if (changed.status !== 200) throw new Error(changed.text);
      const [latest] = (await api.send('GET', `${root}/ingestion-jobs?order=desc`)).json.data;
      return finished(latest.id);
    },
    source: async () => (await api.send('GET', path)).json,
    documents: async () => {
      const { data } = (await api.send('GET', `${root}/documents?limit=100`)).json;
      return data.toSorted((a: Json, b: Json) => a.name.localeCompare(b.name));
    },
    find: async (query, more = {}) => {
      const search = { query, search_type: 'keyword', ...more };
      return (await api.send('POST', `${root}/retrieve`, { body: search })).json.results;
    },
  };
}

async function waitForJob(api: TestApi, path: string): Promise<Json> {
  for (;;) {
    const { json } = await api.send('GET', path);
    if (json.status === 'completed' || json.status === 'failed') return json;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
