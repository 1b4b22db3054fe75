import type { Config } from '../../config/config.ts';
import { modelKind } from '../catalogue.ts';
import { modelPath } from '../downloads/model-files.ts';
import { namesEngine } from '../upstreams/merge-upstreams.ts';
import type { StoredBinding } from './store.ts';

/** A setting that overrides the stored binding of a model id. */
export type BindingOverride = 'configuration' | 'environment';

/**
 * The setting that decides which engine serves a model id; null when the stored binding decides. `QUIRE_UPSTREAM_URL`
 * covers generation models only.
 */
export function findOverride(config: Pick<Config, 'models' | 'upstreamUrl'>, id: string): BindingOverride | null {
  if (namesEngine(config.models[id] ?? {})) return 'configuration';
  return modelKind(id) === 'generation' && config.upstreamUrl !== null ? 'environment' : null;
}

/** Effective binding of a model id: its settings, completed by the stored model file where none overrides it. */
export function resolveBinding(
  config: Pick<Config, 'models' | 'upstreamUrl' | 'dataDir'>,
  stored: StoredBinding | undefined,
  id: string,
): Config['models'][string] | undefined {
  const settings = config.models[id];
  if (stored === undefined || findOverride(config, id) !== null) return settings;
  return { ...settings, file: modelPath(config.dataDir, stored.model) };
}
