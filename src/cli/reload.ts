import { isDeepStrictEqual } from 'node:util';
import { type Config, loadConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { KeyRateLimiter } from '../limits/key-rate-limiter.ts';
import type { ModelBindings } from '../models/bindings/model-bindings.ts';

/** Settings that a running service applies. */
const RELOADED = [
  'logLevel',
  'rateLimits',
  'models',
  'upstreamUrl',
  'upstreamApiKey',
  'upstreamModel',
  'upstreamProtocol',
] as const;

const pickReloaded = (sources: Config['sources']): Config['sources'] =>
  Object.fromEntries(RELOADED.flatMap((name) => (sources[name] === undefined ? [] : [[name, sources[name]]])));

/** The parts of a service that can be changed while it runs. */
export interface ReloadableService {
  logger: Logger;
  bindings: Pick<ModelBindings, 'reconfigure'>;
  limiter: Pick<KeyRateLimiter, 'setDefaults'>;
  /** Receives the configuration that is in force after each reload. */
  onApplied?(config: Config): void;
  /** Reads the configuration again. */
  load?(): Config;
}

/**
 * Reads the configuration file again and applies what can be applied without a restart. Returns the configuration that
 * is in force now: the current one when the new one is invalid or a model cannot be served. Never throws.
 */
export async function reloadConfig(current: Config, service: ReloadableService): Promise<Config> {
  const { logger, bindings, limiter, load = loadConfig } = service;
  try {
    const next = load();
    const reloaded = Object.fromEntries(RELOADED.map((name) => [name, next[name]]));
    const sources = pickReloaded(next.sources);
    const applied = { ...current, ...reloaded, sources: { ...current.sources, ...sources } };
    const changed = (Object.keys(next) as (keyof Config)[]).filter(
      (name) => name !== 'sources' && !isDeepStrictEqual(next[name], current[name]),
    );
    const isReloaded = (name: string) => RELOADED.some((reloaded) => reloaded === name);
    await bindings.reconfigure(applied);
    limiter.setDefaults(applied.rateLimits);
    logger.level = applied.logLevel;
    const needRestart = changed.filter((name) => !isReloaded(name));
    logger.info({ applied: changed.filter(isReloaded), needRestart }, 'configuration reloaded');
    return applied;
  } catch (error) {
    logger.error({ error: describeError(error) }, 'configuration not reloaded, the previous one stays in force');
    return current;
  }
}

/**
 * Reloads the configuration on SIGHUP, one reload after the other. A process with a terminal gets SIGHUP when the
 * terminal is closed, and stops then instead. Returns a function that ends it.
 */
export function reloadOnHangup(config: Config, service: ReloadableService): () => void {
  if (process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY) return () => {};
  let current = Promise.resolve(config);
  const onHangup = () => {
    current = current.then((previous) => reloadConfig(previous, service));
    void current.then((applied) => service.onApplied?.(applied));
  };
  process.on('SIGHUP', onHangup);
  return () => process.off('SIGHUP', onHangup);
}
