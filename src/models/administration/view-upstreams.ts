import type { Config } from '../../config/config.ts';
import type { ModelLookup } from '../../engines/registry.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { UpstreamModelRow, UpstreamRow } from '../upstreams/store.ts';
import type { UpstreamResource } from './upstream-schema.ts';

/** A server as the API shows it. `models`: all bindings to servers. */
export function viewUpstream(
  registry: Pick<ModelLookup, 'runtimes'>,
  row: UpstreamRow,
  models: readonly UpstreamModelRow[],
): UpstreamResource {
  const bound = models.filter(({ routes }) => routes.some(({ upstream_id }) => upstream_id === row.id));
  return {
    id: row.id,
    object: 'upstream',
    source: 'api',
    name: row.name,
    base_urls: row.baseUrls,
    protocol: row.protocol,
    has_api_key: row.sealedApiKey !== null,
    models: bound.map(({ modelId }) => modelId),
    servers: bound.length === 0 ? [] : findServers(registry, row.baseUrls),
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}

/** A server of the configuration. */
interface Configured {
  base_urls?: readonly string[] | undefined;
  api_key?: string | undefined;
  protocol?: UpstreamResource['protocol'] | undefined;
}

/** The servers of the configuration file and of `QUIRE_UPSTREAM_URL`. Their URLs are shown as origins. */
export function configuredUpstreams({
  config,
  models,
}: {
  config: Pick<Config, 'models' | 'upstreamUrl' | 'upstreamApiKey' | 'upstreamProtocol'>;
  models: Pick<ModelLookup, 'runtimes'>;
}): UpstreamResource[] {
  const byKey = new Map<string, UpstreamResource>();
  const add = (source: 'configuration' | 'environment', name: string, server: Configured, ids: readonly string[]) => {
    if (server.base_urls === undefined) return;
    const key = JSON.stringify([server.base_urls, server.protocol]);
    const existing = byKey.get(key);
    if (existing !== undefined) existing.models.push(...ids);
    else byKey.set(key, viewConfigured(models, { source, name, server, ids }));
  };
  for (const [id, binding] of Object.entries(config.models))
    for (const server of binding.servers ?? [binding]) add('configuration', id, server, [id]);
  const { upstreamUrl, upstreamApiKey, upstreamProtocol } = config;
  const environment = { base_urls: upstreamUrl ?? undefined, api_key: upstreamApiKey ?? undefined };
  add('environment', 'QUIRE_UPSTREAM_URL', { ...environment, protocol: upstreamProtocol }, []);
  return [...byKey.values()];
}

function viewConfigured(
  registry: Pick<ModelLookup, 'runtimes'>,
  {
    source,
    name,
    server,
    ids,
  }: { source: 'configuration' | 'environment'; name: string; server: Configured; ids: readonly string[] },
): UpstreamResource {
  const urls = server.base_urls ?? [];
  return {
    id: null,
    object: 'upstream',
    source,
    name,
    // A URL of the configuration may hold a key.
    base_urls: urls.map((url) => new URL(url).origin),
    protocol: server.protocol ?? 'openai',
    has_api_key: server.api_key !== undefined,
    models: [...ids],
    servers: findServers(registry, urls),
    created_at: null,
    updated_at: null,
  };
}

/** The state of the servers of these URLs in the engines of this process; of two with one origin, the unhealthy one. */
function findServers(registry: Pick<ModelLookup, 'runtimes'>, urls: readonly string[]): UpstreamResource['servers'] {
  const origins = new Set(urls.map((url) => new URL(url).origin));
  const byOrigin = new Map<string, UpstreamResource['servers'][number]>();
  for (const { url, isHealthy, inFlight, lastError } of registry.runtimes().flatMap((one) => one.servers?.() ?? [])) {
    if (!origins.has(url)) continue;
    const existing = byOrigin.get(url);
    const error = lastError && { message: lastError.message, created_at: Math.floor(lastError.at / 1000) };
    byOrigin.set(url, {
      url,
      healthy: isHealthy && (existing?.healthy ?? true),
      in_flight: inFlight + (existing?.in_flight ?? 0),
      last_error: error ?? existing?.last_error ?? null,
    });
  }
  return [...byOrigin.values()];
}
