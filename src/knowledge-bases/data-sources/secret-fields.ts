import { Type } from 'typebox';
import type { Connector } from '../../connectors/connector.ts';
import { CONNECTORS } from '../../connectors/index.ts';
import type { DataSourceType } from '../../connectors/source-types.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { DecryptionError } from '../../lib/secrets.ts';
import { mergeMetadata } from '../metadata.ts';
import type { Metadata } from '../tables.ts';

/** Placeholder shown instead of a secret. */
export const REDACTED = '***';

/** The stored config of a data source. */
export interface StoredConfig {
  id: string;
  type: DataSourceType;
  config: Metadata;
  sealedSecrets: string | null;
}

/** Splits a config into plain fields and encrypted secrets, which are bound to the row's id. */
export function encryptConfig(
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

/** Returns the config with decrypted secrets. Throws `DecryptionError` when they were encrypted with another key. */
export function decryptConfig({ secrets }: Pick<Deps, 'secrets'>, stored: StoredConfig): Metadata {
  if (stored.sealedSecrets === null) return stored.config;
  return { ...stored.config, ...JSON.parse(secrets.open(stored.sealedSecrets, stored.id)) };
}

/** Returns the config with placeholders instead of secrets, without decrypting them. */
export function redactConfig({ type, config }: Pick<StoredConfig, 'type' | 'config'>): Metadata {
  const { secretFields, config: schema } = CONNECTORS[type];
  if (!Type.IsObject(schema)) return config;
  const redacted = secretFields.map((field) => {
    const secrets = schema.properties[field];
    const names = Type.IsObject(secrets) ? Object.keys(secrets.properties) : [];
    return [field, Object.fromEntries(names.map((name) => [name, REDACTED]))] as const;
  });
  return { ...config, ...Object.fromEntries(redacted) };
}

/**
 * Merges `changes` into the stored config: objects merge by key, other values are replaced, null removes a field, a
 * redacted secret keeps its value. Throws 400 when stored secrets would be sent to another destination.
 */
export function mergeConfig(deps: Pick<Deps, 'secrets'>, stored: StoredConfig, changes: Metadata): Metadata {
  const connector = CONNECTORS[stored.type];
  const before = openOrOmitSecrets(deps, stored);
  const merged: Metadata = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    const old = before[name];
    if (value === null) delete merged[name];
    else if (!isObject(value) || !isObject(old)) merged[name] = value;
    else merged[name] = mergeMetadata(old, connector.secretFields.includes(name) ? keepRedacted(value, old) : value);
  }
  requireNewSecrets(connector, { before, changes, merged });
  return merged;
}

/** Returns the config without its secrets when they cannot be decrypted. */
function openOrOmitSecrets(deps: Pick<Deps, 'secrets'>, stored: StoredConfig): Metadata {
  try {
    return decryptConfig(deps, stored);
  } catch (error) {
    if (error instanceof DecryptionError) return stored.config;
    throw error;
  }
}

function keepRedacted(value: Metadata, old: Metadata): Metadata {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === REDACTED && key in old ? old[key] : item]),
  );
}

/** Requires new secrets with a new destination: otherwise a caller could send unknown secrets to their own server. */
function requireNewSecrets(
  { secretFields, secretDestinations = [] }: Connector,
  { before, changes, merged }: { before: Metadata; changes: Metadata; merged: Metadata },
): void {
  const moved = secretDestinations.find((name) => merged[name] !== before[name]);
  if (moved === undefined) return;
  for (const field of secretFields) {
    const sent = changes[field];
    const isComplete = isObject(sent) && !Object.values(sent).includes(REDACTED);
    const old = before[field];
    if (isComplete && (!isObject(old) || Object.keys(old).every((key) => key in sent))) continue;
    throw invalidValue(`config.${field}`, `must be sent completely and not redacted when 'config.${moved}' changes`);
  }
}

/** Whether the value is a plain object. */
export function isObject(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
