import { Value } from 'typebox/value';
import { invalidValue } from '../../errors.ts';
import { parse } from '../../http/validation.ts';
import { checkMetadata } from '../metadata.ts';
import type { DataSourceType } from '../source-types.ts';
import type { Metadata } from '../tables.ts';
import { CONNECTORS } from './connectors/index.ts';
import { isObject, REDACTED } from './secret-fields.ts';

/**
 * The config of a data source of that type as it is stored: whole, with its defaults, and without fields that its type does not
 * have. Throws 400 naming `config.<path>`.
 */
export function parseConfig(type: DataSourceType, given: Metadata): Metadata {
  const connector = CONNECTORS[type];
  const copy = structuredClone(given);
  refuseRedacted(connector.secretFields, copy);
  // What the type does not name is not kept: it may be a secret, and nobody would know to seal it.
  const config = Value.Clean(connector.config, parse(connector.config, copy, 'config'));
  const checked = (connector.check?.(config) ?? config) as Metadata;
  refuseNul(checked, 'config');
  if (isObject(checked['metadata'])) checkMetadata(checked['metadata'], 'config.metadata');
  return checked;
}

function refuseRedacted(secretFields: readonly string[], config: Metadata): void {
  for (const field of secretFields) {
    const secrets = config[field];
    if (!isObject(secrets)) continue;
    const name = Object.keys(secrets).find((key) => secrets[key] === REDACTED);
    if (name === undefined) continue;
    throw invalidValue(
      `config.${field}.${name}`,
      'is only how a secret is shown; nothing is stored that it could stand for',
    );
  }
}

/** No database takes a NUL in a text. */
function refuseNul(value: unknown, path: string): void {
  if (typeof value === 'string' && value.includes('\u0000'))
    throw invalidValue(path, 'must not contain NUL characters');
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (key.includes('\u0000')) throw invalidValue(path, 'must not contain NUL characters');
    refuseNul(item, `${path}.${key}`);
  }
}
