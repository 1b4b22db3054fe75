import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mock } from 'node:test';
import { eq } from 'drizzle-orm';
import type { Connector } from '../src/connectors/connector.ts';
import type { Extraction } from '../src/extraction/extracted-document.ts';
import { IngestionError } from '../src/extraction/ingestion-error.ts';
import { openSource, withConfigFingerprint } from '../src/knowledge-bases/data-sources/source-config.ts';
import { chunks, documents } from '../src/knowledge-bases/documents/tables.ts';
import { ingestSource } from '../src/knowledge-bases/ingestion/ingest-source.ts';
import type { IngestDeps } from '../src/knowledge-bases/ingestion/run-context.ts';
import { ingestionJobs } from '../src/knowledge-bases/jobs/tables.ts';
import { dataSources } from '../src/knowledge-bases/tables.ts';
import { FairSemaphore } from '../src/lib/fair-semaphore.ts';
import { newId } from '../src/lib/ids.ts';
import type { TestApi } from './harness.ts';

/** An in-memory source: texts by key. Tests change it between runs. */
export class MemorySource {
  readonly items = new Map<string, string>();
  /** Additional metadata of items. */
  readonly metadata = new Map<string, Record<string, unknown>>();
  /** Fetched keys, in order. */
  readonly fetched: string[] = [];
  /** Error thrown by the listing, if set. */
  listError: Error | null = null;
  /** Called before an item is returned. */
  onFetch: (key: string) => void | Promise<void> = () => {};

  readonly connector: Connector = {
    type: 'file_upload',
    config: {},
    secretFields: [],
    list: () => this.#list(),
    fetch: async (_deps, _config, { key }) => {
      this.fetched.push(key);
      await this.onFetch(key);
      const text = this.items.get(key) ?? '';
      const bytes = (async function* () {
        yield Buffer.from(text);
      })();
      return {
        bytes,
        filename: `${key}.txt`,
        mediaType: 'text/plain',
        metadata: { origin: key, ...this.metadata.get(key) },
      };
    },
  };

  async *#list() {
    if (this.listError !== null) throw this.listError;
    for (const [key, text] of this.items) {
      const fingerprint = hash('sha256', JSON.stringify([text, this.metadata.get(key)]));
      yield { key, fingerprint, name: `${key}.txt`, uri: `mem:${key}` };
    }
  }
}

/** Extracts every text as one paragraph. A text that starts with `!` fails; `|` separates documents. */
export const plainExtractor: IngestDeps['extractor'] = {
  async *extract({ content }) {
    let text = '';
    for await (const piece of content) text += Buffer.from(piece).toString();
    const parts = text.split('|');
    for (const [i, part] of parts.entries()) {
      const name = parts.length > 1 ? String(i + 1) : '';
      yield extractText(part, name);
    }
  },
};

function extractText(text: string, part: string): Extraction {
  if (text.startsWith('!')) return { part, error: new IngestionError('invalid_file', 'It cannot be read.') };
  const blocks = [{ kind: 'paragraph' as const, start: 0, end: text.length }];
  return { part, document: { text, blocks, title: null, metadata: { words: text.split(' ').length } } };
}

/** A source of a knowledge base with its configuration. */
export async function makeSource(api: TestApi, baseId: string, source: MemorySource) {
  const [organization] = await findOrganization(api, baseId);
  const now = new Date();
  const sourceId = newId('dataSource');
  const common = { knowledgeBaseId: baseId, organizationId: organization, createdAt: now };
  await api.db.sql.insert(dataSources).values({
    ...common,
    id: sourceId,
    type: 'file_upload',
    name: 'memory',
    config: { file_ids: [], metadata: { team: 'a' } },
    sealedSecrets: null,
    status: 'processing',
    documentCount: 0,
    updatedAt: now,
    lastSyncedAt: null,
  });
  const deps: IngestDeps = {
    ...api.deps,
    extractor: plainExtractor,
    renderer: null,
    archives: null,
    itemSemaphore: new FairSemaphore({ total: 4, perGroup: 3 }),
    openSource: ({ config }) => ({ connector: withConfigFingerprint(source.connector, config), config }),
  };
  const queueJob = async () => {
    const jobId = newId('ingestionJob');
    await api.db.sql
      .insert(ingestionJobs)
      .values({ ...common, id: jobId, dataSourceId: sourceId, keyId: 'key_test', status: 'queued' });
    return jobId;
  };
  return {
    sourceId,
    deps,
    queueJob,
    run: (jobId: string, signal = new AbortController().signal) => ingestSource(deps, jobId, signal),
  };
}

async function findOrganization(api: TestApi, baseId: string): Promise<[string]> {
  const { knowledgeBases } = await import('../src/knowledge-bases/tables.ts');
  const rows = await api.db.sql.select().from(knowledgeBases);
  const base = rows.find(({ id }) => id === baseId);
  if (base === undefined) throw new Error(`no knowledge base ${baseId}`);
  return [base.organizationId];
}

/** Makes a write that returns nothing return no replaced chunks. */
const orNone =
  (write: (...args: Parameters<Replace>) => Promise<unknown>) =>
  async (...args: Parameters<Replace>) =>
    ((await write(...args)) ?? []) as string[];

type Replace = TestApi['deps']['chunks']['replace'];

/** A knowledge base with one in-memory source, its ingestion and its results. */
export async function ingestInMemory(api: TestApi, items: Record<string, string>) {
  const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json;
  const source = new MemorySource();
  for (const [key, text] of Object.entries(items)) source.items.set(key, text);
  const made = await makeSource(api, base.id, source);
  const sql = api.db.sql;
  const jobRow = async (id: string) => (await sql.select().from(ingestionJobs).where(eq(ingestionJobs.id, id)))[0];
  return {
    source,
    ...made,
    base: async () => (await api.send('GET', `/v1/knowledge-bases/${base.id}`)).json,
    /** Enqueues and runs a job; returns its row. */
    sync: async () => {
      const id = await made.queueJob();
      await made.run(id);
      return jobRow(id);
    },
    jobRow,
    /** Sets the metadata of the documents of the source. */
    setMetadata: (metadata: object) =>
      sql
        .update(dataSources)
        .set({ config: { file_ids: [], metadata } })
        .where(eq(dataSources.id, made.sourceId)),
    /**
     * Runs a job with `write` instead of the index's `replace`, which is its first argument. Returns the id of the job.
     */
    syncWith: async (
      write: (replace: Replace, ...args: Parameters<Replace>) => Promise<unknown>,
      signal = new AbortController().signal,
    ) => {
      const id = await made.queueJob();
      const replace = api.deps.chunks.replace.bind(api.deps.chunks);
      const mocked = mock.method(api.deps.chunks, 'replace', orNone(write.bind(null, replace)));
      await made.run(id, signal).catch((error: Error) => assert.match(error.message, /killed/));
      mocked.mock.restore();
      return id;
    },
    sourceRow: async () => (await sql.select().from(dataSources).where(eq(dataSources.id, made.sourceId)))[0],
    documents: async () =>
      (await sql.select().from(documents).where(eq(documents.dataSourceId, made.sourceId))).toSorted((a, b) =>
        (a.itemKey + a.part).localeCompare(b.itemKey + b.part),
      ),
    find: async (query: string, body: object = {}) =>
      (
        await api.send('POST', `/v1/knowledge-bases/${base.id}/retrieve`, {
          body: { query, search_type: 'keyword', ...body },
        })
      ).json.results,
    assertCounts: async () => {
      const json = (await api.send('GET', `/v1/knowledge-bases/${base.id}`)).json;
      const rows = await sql.select().from(documents).where(eq(documents.knowledgeBaseId, base.id));
      const stored = await sql.select().from(chunks).where(eq(chunks.knowledgeBaseId, base.id));
      assert.equal(json.document_count, rows.filter(({ status }) => status === 'completed').length);
      assert.equal(json.chunk_count, stored.length);
      assert.equal(json.chunk_count, await api.deps.chunks.count(base.id));
    },
    baseId: base.id as string,
  };
}

/** Runs the queued jobs of all knowledge bases, until there are none. Files are read as `plainExtractor` does. */
export async function runQueuedJobs(api: TestApi): Promise<void> {
  const deps: IngestDeps = {
    ...api.deps,
    extractor: plainExtractor,
    renderer: null,
    archives: null,
    itemSemaphore: new FairSemaphore({ total: 4, perGroup: 3 }),
    openSource: (source) => openSource(api.deps, source),
  };
  for (;;) {
    const queued = await api.db.sql.select().from(ingestionJobs).where(eq(ingestionJobs.status, 'queued'));
    if (queued.length === 0) return;
    for (const { id } of queued) await ingestSource(deps, id, new AbortController().signal);
  }
}
