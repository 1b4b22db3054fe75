import { createHash } from 'node:crypto';
import { type TObject, type TSchema, Type } from 'typebox';
import { requirePlainUrl } from '../../connectors/config-fields.ts';
import type { Connector, ConnectorDeps } from '../../connectors/connector.ts';
import { CONNECTORS } from '../../connectors/index.ts';
import type { StoredSourceType } from '../../connectors/source-types.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { parse } from '../../http/validation.ts';
import { DecryptionError } from '../../lib/secrets.ts';
import { createPostedStore } from '../documents/posted-store.ts';
import { checkMetadata, mergeMetadata } from '../metadata.ts';
import type { Metadata } from '../tables.ts';
import { CrawlTable } from './crawl-store.ts';
import { createDriveStore } from './drive-store.ts';
import { requireSchedule } from './schedule.ts';

/** Placeholder shown instead of a secret. */
const REDACTED = '***';

/** Prefix of fingerprints: SHA-256 of the metadata in the data source's config. */
const METADATA_PREFIX = /^[0-9a-f]{64} /;

/** The stored config of a data source. */
export interface StoredConfig {
  id: string;
  type: StoredSourceType;
  config: Metadata;
  sealedSecrets: string | null;
}

/**
 * Validates a config by the type of its data source. Returns it with defaults. Throws 400 naming `config.<path>`, also
 * for unknown fields: they may be misspelled, or secrets that would be stored unencrypted.
 */
export function parseConfig(type: StoredSourceType, requested: Metadata): Metadata {
  const connector = CONNECTORS[type];
  const copy = structuredClone(requested);
  rejectRedacted(connector.secretFields, copy);
  rejectUnknown(type, connector.config, copy, 'config');
  const config = parse(connector.config, copy, 'config');
  checkDestinations(connector, config as Metadata);
  const checked = (connector.check?.(config) ?? config) as Metadata;
  checkCommonFields(checked);
  return checked;
}

/**
 * Validates the config of an archived data source, which has no secrets and no ids of files. Throws as `parseConfig`.
 */
export function parseImportedConfig(type: StoredSourceType, requested: Metadata): Metadata {
  const connector = CONNECTORS[type];
  const copy = structuredClone(requested);
  const schema = Type.Omit(connector.config as TObject, ['file_ids', ...connector.secretFields]);
  rejectUnknown(type, schema, copy, 'config');
  const config = parse(schema, copy, 'config') as Metadata;
  checkDestinations(connector, config);
  // Other checks are about secrets and files.
  const checked = type === 'web_crawl' ? ((connector.check?.(config) ?? config) as Metadata) : config;
  checkCommonFields(checked);
  return checked;
}

function checkDestinations(connector: Connector, config: Metadata): void {
  for (const name of connector.secretDestinations ?? []) {
    const url = config[name];
    if (typeof url === 'string') requirePlainUrl(url, `config.${name}`);
  }
}

function checkCommonFields(checked: Metadata): void {
  rejectNul(checked, 'config');
  if (typeof checked['schedule'] === 'string') requireSchedule(checked['schedule'], 'config.schedule');
  if (isObject(checked['metadata'])) checkMetadata(checked['metadata'], 'config.metadata');
}

function rejectUnknown(type: StoredSourceType, schema: TSchema, value: unknown, path: string): void {
  if (!Type.IsObject(schema) || !isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    const field = schema.properties[key];
    const fields = Object.keys(schema.properties).join(', ');
    if (field === undefined)
      throw invalidValue(`${path}.${key}`, `is not a field of a '${type}' data source: ${fields}`);
    rejectUnknown(type, field, item, `${path}.${key}`);
  }
}

function rejectRedacted(secretFields: readonly string[], config: Metadata): void {
  for (const field of secretFields) {
    const secrets = config[field];
    if (!isObject(secrets)) continue;
    const name = Object.keys(secrets).find((key) => secrets[key] === REDACTED);
    if (name === undefined) continue;
    throw invalidValue(`config.${field}.${name}`, 'is the placeholder of a redacted secret, and no secret is stored');
  }
}

/** PostgreSQL does not accept NUL in strings. */
function rejectNul(value: unknown, path: string): void {
  if (typeof value === 'string' && value.includes('\u0000'))
    throw invalidValue(path, 'must not contain NUL characters');
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (key.includes('\u0000')) throw invalidValue(path, 'must not contain NUL characters');
    rejectNul(item, `${path}.${key}`);
  }
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

/**
 * Returns the connector of a data source and its config with decrypted secrets, for ingestion jobs only. Throws an
 * `IngestionError` `authentication_failed` when the secrets were encrypted with another key.
 */
export function openSource(
  deps: Pick<Deps, 'secrets'>,
  stored: StoredConfig,
): { connector: Connector; config: Metadata } {
  if (stored.sealedSecrets === null && CONNECTORS[stored.type].secretFields.length > 0) {
    throw new IngestionError('authentication_failed', 'The data source was imported without credentials. Send them.');
  }
  try {
    const connector = withConfigFingerprint(CONNECTORS[stored.type], stored.config);
    return { connector, config: decryptConfig(deps, stored) };
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    const message = "The stored credentials cannot be decrypted: the service's key has changed. Send them again.";
    throw new IngestionError('authentication_failed', message, error);
  }
}

/** Creates the stores of what connectors remember of a data source. */
export function createConnectorStores(
  sql: Sql,
  scope: { sourceId: string; jobId: string },
): Pick<ConnectorDeps, 'crawlStore' | 'driveStore' | 'postedStore'> {
  return {
    crawlStore: new CrawlTable(sql, scope),
    driveStore: createDriveStore(sql, scope.sourceId),
    postedStore: createPostedStore(sql, scope.sourceId),
  };
}

/** Returns the part of an item's fingerprint that depends on its content only. */
export function contentFingerprint(fingerprint: string): string {
  return fingerprint.replace(METADATA_PREFIX, '');
}

/** Prefixes fingerprints with hashes of the config that changes documents: fields with text, and metadata. */
export function withConfigFingerprint(connector: Connector, { metadata, text_fields: fields }: Metadata): Connector {
  const reading = withFingerprintPrefix(connector, fields, (hash) => `fields:${hash} `);
  return withFingerprintPrefix(reading, metadata, (hash) => `${hash} `);
}

/** Prefixes fingerprints with a hash of a part of the config, so that items count as changed when it changes. */
function withFingerprintPrefix(connector: Connector, part: unknown, toPrefix: (hash: string) => string): Connector {
  if (part === undefined) return connector;
  const prefix = toPrefix(createHash('sha256').update(JSON.stringify(part)).digest('hex'));
  return {
    ...connector,
    async *list(deps, config, signal) {
      for await (const item of connector.list(deps, config, signal)) {
        yield { ...item, fingerprint: prefix + item.fingerprint };
      }
    },
    fetch: (deps, config, item, signal) =>
      connector.fetch(deps, config, { ...item, fingerprint: item.fingerprint.slice(prefix.length) }, signal),
  };
}

/** Whether the value is a plain object. */
function isObject(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
