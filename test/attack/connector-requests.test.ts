import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SourceItem } from '../../src/connectors/connector.ts';
import { GuardedHttp } from '../../src/connectors/http/guarded-http.ts';
import type { DataSourceType } from '../../src/connectors/source-types.ts';
import {
  createConnectorStores,
  encryptConfig,
  openSource,
} from '../../src/knowledge-bases/data-sources/source-config.ts';
import { INGEST_SOURCE } from '../../src/knowledge-bases/jobs/ingest-job.ts';
import { bundledEmbedder, embeddedBy } from '../embedder.ts';
import { CONNECTOR_SERVICES, type ConnectorService } from '../fixtures/connector-services.ts';
import { useApi } from '../harness.ts';
import { scaled } from './scale.ts';

const OBJECTS = scaled(10_000, 400);
/** A crawl at 50 requests per second takes 100 s for this many. */
const PAGES = scaled(5_000, 150);
/** Objects of one page of a listing: the maximum of each API. */
const PAGE_SIZES: Record<string, number> = { confluence: 250, notion: 100 };
const MAX_PAGE_SIZE = 1000;
/** Requests of a sync besides listing and changes: tokens, spaces, end of the change log. */
const OVERHEAD = 6;

const text = (i: number, version = 1) => `Version ${version} of document ${i} on item ${i * 7919}.`;
const nameOf = (i: number) => `doc${String(i).padStart(5, '0')}`;

describe('the requests of a sync', () => {
  const engine = bundledEmbedder();
  after(() => engine.close());
  const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], config: { allowPrivateHosts: ['127.0.0.1'] } });

  for (const [type, start] of Object.entries(CONNECTOR_SERVICES)) {
    const objects = type === 'web_crawl' ? PAGES : OBJECTS;
    const pageSize = PAGE_SIZES[type] ?? MAX_PAGE_SIZE;

    describe(type, () => {
      let service: ConnectorService;
      before(async () => {
        service = await start(pageSize);
        for (let i = 0; i < objects; i++) service.put(nameOf(i), text(i));
      });
      after(() => service.close());

      it(`cost the listing and 1 % of ${objects} objects`, { timeout: 900_000 }, async (test) => {
        const sourceId = await createSource(type, service.config);
        const first = await sync({ type, sourceId, jobId: 'job_1', stored: new Map(), fetches: 10 });
        const listing = first.listing;
        if (type !== 'web_crawl') assert.equal(first.items.size, objects);
        const changes = Math.ceil(objects / 100);
        const added = Math.ceil(changes / 10);
        for (let i = 0; i < changes; i++) service.put(nameOf(i * 50), text(i * 50, 2));
        for (let i = 0; i < added; i++) {
          service.remove(nameOf(i * 50 + 7));
          service.put(`new${i}`, text(i));
        }
        const stored = new Map([...first.items].map(([key, { fingerprint }]) => [key, fingerprint]));
        const second = await sync({ type, sourceId, jobId: 'job_2', stored, fetches: Number.POSITIVE_INFINITY });
        test.diagnostic(
          `${type}: ${objects} objects, first listing ${listing} requests; second sync ${second.listing} for the listing, ${second.fetching} for ${second.changed.length} changed items`,
        );
        if (type === 'web_crawl') return assertCrawl(second.listing, objects);
        assert.equal(second.changed.length, changes + added);
        assert.ok(second.fetching <= second.changed.length + OVERHEAD, `${second.fetching} for changes`);
        assert.ok(
          second.listing <= Math.ceil((objects + added) / pageSize) + OVERHEAD,
          `${second.listing} for the listing`,
        );
      });

      /** A web site has no listing: every page is requested, with conditions. */
      function assertCrawl(requests: number, pages: number): void {
        assert.ok(requests <= pages * 1.02 + OVERHEAD, `${requests} requests`);
      }

      async function sync(run: {
        type: string;
        sourceId: string;
        jobId: string;
        stored: ReadonlyMap<string, string>;
        fetches: number;
      }) {
        const { organizationId } = await api.authenticator.authenticate(`Bearer ${api.key}`);
        const http = new GuardedHttp(['127.0.0.1']);
        const source = { id: run.sourceId, type: run.type as DataSourceType, config: service.config };
        const { connector } = openSource(api.deps, { ...source, ...encryptConfig(api.deps, source) });
        const stores = createConnectorStores(api.db.sql, run);
        const deps = { ...api.deps, ...stores, organizationId, sourceId: run.sourceId, http, renderer: null };
        const { signal } = new AbortController();
        service.requests.reset();
        const items = new Map<string, SourceItem>();
        for await (const item of connector.list(deps, service.config, signal)) items.set(item.key, item);
        const listing = service.requests.count();
        service.requests.reset();
        const changed = [...items.values()].filter(({ key, fingerprint }) => run.stored.get(key) !== fingerprint);
        for (const item of changed.slice(0, run.fetches)) {
          const { bytes } = await connector.fetch(deps, service.config, item, signal);
          for await (const _piece of bytes);
        }
        const fetching = service.requests.count();
        await connector.finish?.(deps);
        await http.close();
        return { items, changed, listing, fetching };
      }
    });
  }

  async function createSource(type: string, config: object): Promise<string> {
    const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
    const body = { type, config };
    const created = await api.send('POST', `/v1/knowledge-bases/${base}/data-sources`, { body });
    assert.equal(created.status, 200, created.text);
    return created.json.id;
  }
});
