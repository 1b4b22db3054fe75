import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { CannotOpen } from '../../lib/secrets.ts';
import { mergeMetadata } from '../metadata.ts';
import type { DataSourceType } from '../source-types.ts';
import type { Metadata } from '../tables.ts';
import type { Connector } from './connectors/connector.ts';
import { CONNECTORS } from './connectors/index.ts';

/** How a secret is shown. */
export const REDACTED = '***';

/** What a data source's row keeps of its config. */
export interface StoredConfig {
  id: string;
  type: DataSourceType;
  config: Metadata;
  sealedSecrets: string | null;
}

/** The parts of a config that a row keeps: what is secret of it only sealed, for the row of that id. */
export function sealConfig(
  { secrets }: Pick<Deps, 'secrets'>,
  { id, type, config }: Omit<StoredConfig, 'sealedSecrets'>,
): Pick<StoredConfig, 'config' | 'sealedSecrets'> {
  const { secretFields } = CONNECTORS[type];
  const isSecret = ([name]: [string, unknown]) => secretFields.includes(name);
  const fields = Object.entries(config);
  return {
    config: Object.fromEntries(fields.filter((field) => !isSecret(field))),
    sealedSecrets:
      secretFields.length === 0 ? null : secrets.seal(JSON.stringify(Object.fromEntries(fields.filter(isSecret))), id),
  };
}

/** The whole config. Throws `CannotOpen` where its secrets were sealed with a key that is gone. */
export function openConfig({ secrets }: Pick<Deps, 'secrets'>, stored: StoredConfig): Metadata {
  if (stored.sealedSecrets === null) return stored.config;
  return { ...stored.config, ...JSON.parse(secrets.open(stored.sealedSecrets, stored.id)) };
}

/** The config as callers see it: every secret has its name and no value. What is sealed is not opened for it. */
export function redactConfig({ type, config }: Pick<StoredConfig, 'type' | 'config'>): Metadata {
  const { secretFields, config: schema } = CONNECTORS[type];
  if (!Type.IsObject(schema)) return config;
  const shown = secretFields.map((field) => {
    const secrets = schema.properties[field];
    const names = Type.IsObject(secrets) ? Object.keys(secrets.properties) : [];
    return [field, Object.fromEntries(names.map((name) => [name, REDACTED]))] as const;
  });
  return { ...config, ...Object.fromEntries(shown) };
}

/**
 * `changes` over the config that is stored: objects merge by key, all else is replaced, a null removes, and a secret that is sent as
 * it is shown stays what it was. Throws 400 where secrets would be sent to another place than they were given for.
 */
export function mergeConfig(deps: Pick<Deps, 'secrets'>, stored: StoredConfig, changes: Metadata): Metadata {
  const connector = CONNECTORS[stored.type];
  const before = openOrForget(deps, stored);
  const merged: Metadata = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    const old = before[name];
    if (value === null) delete merged[name];
    else if (!isObject(value) || !isObject(old)) merged[name] = value;
    else merged[name] = mergeMetadata(old, connector.secretFields.includes(name) ? keepRedacted(value, old) : value);
  }
  requireSecretsAnew(connector, { before, changes, merged });
  return merged;
}

/** Secrets that no key opens any more are as if they had never been given. */
function openOrForget(deps: Pick<Deps, 'secrets'>, stored: StoredConfig): Metadata {
  try {
    return openConfig(deps, stored);
  } catch (error) {
    if (error instanceof CannotOpen) return stored.config;
    throw error;
  }
}

function keepRedacted(value: Metadata, old: Metadata): Metadata {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === REDACTED && key in old ? old[key] : item]),
  );
}

/** Otherwise who may change a source, but was never told its secrets, could have them sent to a server of their own. */
function requireSecretsAnew(
  { secretFields, secretsGoTo = [] }: Connector,
  { before, changes, merged }: { before: Metadata; changes: Metadata; merged: Metadata },
): void {
  const moved = secretsGoTo.find((name) => merged[name] !== before[name]);
  if (moved === undefined) return;
  for (const field of secretFields) {
    const given = changes[field];
    const isWhole = isObject(given) && !Object.values(given).includes(REDACTED);
    const old = before[field];
    if (isWhole && (!isObject(old) || Object.keys(old).every((key) => key in given))) continue;
    throw invalidValue(`config.${field}`, `must be sent whole, and not as it is shown, when 'config.${moved}' changes`);
  }
}

/** Whether the value is an object of fields. */
export function isObject(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
