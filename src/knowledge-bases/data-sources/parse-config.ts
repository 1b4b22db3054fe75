import { type TSchema, Type } from 'typebox';
import { CONNECTORS } from '../../connectors/index.ts';
import type { DataSourceType } from '../../connectors/source-types.ts';
import { invalidValue } from '../../errors.ts';
import { parse } from '../../http/validation.ts';
import { checkMetadata } from '../metadata.ts';
import type { Metadata } from '../tables.ts';
import { requireSchedule } from './schedule.ts';
import { isObject, REDACTED } from './secret-fields.ts';

/**
 * Validates a config by the type of its data source. Returns it with defaults. Throws 400 naming `config.<path>`, also for
 * unknown fields: they may be misspelled, or secrets that would be stored unencrypted.
 */
export function parseConfig(type: DataSourceType, requested: Metadata): Metadata {
  const connector = CONNECTORS[type];
  const copy = structuredClone(requested);
  rejectRedacted(connector.secretFields, copy);
  rejectUnknown(type, connector.config, copy, 'config');
  const config = parse(connector.config, copy, 'config');
  const checked = (connector.check?.(config) ?? config) as Metadata;
  rejectNul(checked, 'config');
  if (typeof checked['schedule'] === 'string') requireSchedule(checked['schedule'], 'config.schedule');
  if (isObject(checked['metadata'])) checkMetadata(checked['metadata'], 'config.metadata');
  return checked;
}

function rejectUnknown(type: DataSourceType, schema: TSchema, value: unknown, path: string): void {
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
