import type { Connector } from '../src/knowledge-bases/data-sources/connectors/connector.ts';
import { dataSources } from '../src/knowledge-bases/data-sources/tables.ts';
import type { Extraction } from '../src/knowledge-bases/ingestion/extract/extracted-document.ts';
import { type IngestDeps, ingestSource } from '../src/knowledge-bases/ingestion/ingest-source.ts';
import { IngestionError } from '../src/knowledge-bases/ingestion/job-error.ts';
import { ingestionJobs } from '../src/knowledge-bases/ingestion/tables.ts';
import { FairGate } from '../src/lib/fair-gate.ts';
import { newId } from '../src/lib/ids.ts';
import type { TestApi } from './harness.ts';

/** A source in memory: texts by key. Change it between runs. */
export class MemorySource {
  readonly items = new Map<string, string>();
  /** Metadata of items beside what every item has. */
  readonly metadata = new Map<string, Record<string, unknown>>();
  /** Keys that were fetched, in order. */
  readonly fetched: string[] = [];
  /** Thrown by the listing while it is set. */
  listError: Error | null = null;
  /** Called before an item is given. */
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
    for (const [key, text] of this.items)
      yield { key, fingerprint: `v-${text.replaceAll('\0', '')}`, name: `${key}.txt`, uri: `mem:${key}` };
  }
}

/** Reads every text as one paragraph; one that begins with `!` cannot be read, and `|` parts documents. */
export const plainExtractor: IngestDeps['extractor'] = {
  async *extract({ content }) {
    let text = '';
    for await (const piece of content) text += Buffer.from(piece).toString();
    const parts = text.split('|');
    for (const [i, part] of parts.entries()) {
      const name = parts.length > 1 ? String(i + 1) : '';
      yield extractionOf(part, name);
    }
  },
};

function extractionOf(text: string, part: string): Extraction {
  if (text.startsWith('!')) return { part, error: new IngestionError('invalid_file', 'It cannot be read.') };
  const blocks = [{ kind: 'paragraph' as const, start: 0, end: text.length }];
  return { part, document: { text, blocks, title: null, metadata: { words: text.split(' ').length } } };
}

/** A source of a knowledge base, and how it is read. */
export async function makeSource(api: TestApi, baseId: string, source: MemorySource) {
  const [organization] = await organizationOf(api, baseId);
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
    gate: new FairGate({ total: 4, perGroup: 3 }),
    connectorOf: ({ config }) => ({ connector: source.connector, config }),
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

async function organizationOf(api: TestApi, baseId: string): Promise<[string]> {
  const { knowledgeBases } = await import('../src/knowledge-bases/tables.ts');
  const rows = await api.db.sql.select().from(knowledgeBases);
  const base = rows.find(({ id }) => id === baseId);
  if (base === undefined) throw new Error(`no knowledge base ${baseId}`);
  return [base.organizationId];
}
