import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Decimals have no exact doubles: a quotient counts as whole up to this many decimal places. */
const STEP_PLACES = 9;

/** Validates values with Ajv; null when it rejects the schema. Drafts up to 7 and later ones use separate instances. */
export function validator(schema: Record<string, unknown>): ((value: unknown) => boolean) | null {
  // Drafts up to 4 name a schema `id`, which Ajv rejects.
  const { $schema, id, ...named } = schema;
  const rest = typeof id === 'string' ? named : { ...named, ...(id !== undefined && { id }) };
  const isLate = /20(19|20)/.test(String($schema)) || JSON.stringify(rest).includes('"prefixItems"');
  const options = {
    strict: false,
    logger: false,
    multipleOfPrecision: STEP_PLACES,
    validateSchema: false,
    ownProperties: true,
  } as const;
  try {
    const ajv = isLate ? new Ajv2020(options) : new Ajv(options);
    (addFormats as unknown as (to: unknown) => void)(ajv);
    const check = ajv.compile(rest);
    return (value) => check(value) === true;
  } catch {
    return null;
  }
}

/**
 * Whether a value matches the schema but for repeated items of arrays whose items are not enumerated. A grammar cannot
 * compare items, so such `uniqueItems` are not enforced (docs/develop/decisions/0005-schema-compiler.md).
 */
export function onlyRepeatsItems(schema: Record<string, unknown>, value: unknown): boolean {
  return (
    validator(schema)?.(value) === false &&
    validator(withoutUnenforced(schema) as Record<string, unknown>)?.(value) === true
  );
}

/** The schema without the `uniqueItems` that grammars do not enforce. */
function withoutUnenforced(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutUnenforced);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { items, prefixItems } = schema as { items?: { enum?: unknown; type?: unknown }; prefixItems?: unknown };
  const isEnforced = Array.isArray(items ?? prefixItems) || Array.isArray(items?.enum) || items?.type === 'boolean';
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => keyword !== 'uniqueItems' || isEnforced)
      .map(([keyword, inner]) => [keyword, withoutUnenforced(inner)]),
  );
}
