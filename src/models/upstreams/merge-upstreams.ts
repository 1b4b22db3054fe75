import type { Config } from '../../config/config.ts';
import type { Logger } from '../../lib/logger.ts';
import { DecryptionError, type Secrets } from '../../lib/secrets.ts';
import type { StoredUpstreams, UpstreamModelRow, UpstreamRow } from './store.ts';

type Binding = Config['models'][string];
type Server = NonNullable<Binding['servers']>[number];

/** What opens the keys of stored servers. `secrets`: null in commands, which send no requests. */
export interface UpstreamKeys {
  secrets: Secrets | null;
  logger: Logger;
}

/** Whether an entry of the configuration file names an engine, which then serves the model id. */
export const namesEngine = ({ alias, engine, file, base_urls, servers }: Binding): boolean =>
  (alias ?? engine ?? file ?? base_urls ?? servers) !== undefined;

/**
 * Adds the stored bindings to the `models` of a configuration, in the form of the file. Entries of the file that name
 * an engine win; the fields of other entries win over those of a stored binding.
 */
export function mergeUpstreams(config: Config, stored: StoredUpstreams, keys: UpstreamKeys): Config {
  if (stored.models.length === 0) return config;
  const servers = new Map(stored.servers.map((row) => [row.id, row]));
  const added = stored.models
    .filter(({ modelId }) => !namesEngine(config.models[modelId] ?? {}))
    .map((row) => [row.modelId, { ...toBinding(row, servers, keys), ...config.models[row.modelId] }] as const);
  return { ...config, models: { ...config.models, ...Object.fromEntries(added) } };
}

function toBinding(row: UpstreamModelRow, rows: ReadonlyMap<string, UpstreamRow>, keys: UpstreamKeys): Binding {
  const servers = row.routes.flatMap(({ upstream_id, model, weight }): Server[] => {
    const server = rows.get(upstream_id);
    if (server === undefined) return [];
    const apiKey = openKey(server, keys);
    return [
      {
        base_urls: server.baseUrls,
        upstream_model: model,
        protocol: server.protocol,
        ...(apiKey !== null && { api_key: apiKey }),
        weight,
      },
    ];
  });
  const [first, ...others] = servers;
  const { weight: _, ...single } = first ?? {};
  return {
    ...(others.length === 0 ? single : { servers }),
    ...(row.contextLength !== null && { context_length: row.contextLength }),
    ...(row.pricing !== null && { pricing: row.pricing }),
    ...(row.vision && { capabilities: ['vision'] as ['vision'] }),
  };
}

/** The key of a server; null without one. Without a readable key, the server rejects the requests, which says why. */
export function openKey({ id, sealedApiKey }: UpstreamRow, { secrets, logger }: UpstreamKeys): string | null {
  if (sealedApiKey === null || secrets === null) return null;
  try {
    return secrets.open(sealedApiKey, id);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    logger.warn({ upstreamId: id }, 'API key of an upstream cannot be decrypted, requests are sent without it');
    return null;
  }
}
