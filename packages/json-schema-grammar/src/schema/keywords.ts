import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';

/** A schema that is an object. */
export type Schema = Readonly<Record<string, unknown>>;

/** A schema, or a value in its place, with its dotted path. */
export interface Located {
  schema: unknown;
  path: string;
}

/** A schema without references and combinators: both are resolved. */
export interface SchemaPart {
  schema: Schema;
  path: string;
}

/** JSON types; `integer` is a number without fraction. */
export type JsonType = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
export const JSON_TYPES: readonly JsonType[] = ['object', 'array', 'string', 'number', 'boolean', 'null'];

/** Keywords that constrain values of one type only. */
export const TYPE_KEYWORDS: Readonly<Record<JsonType, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'].concat(
    'minProperties',
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
    'dependencies',
  ),
  array: ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
};

/** A value that must not occur. Only in schemas that the compiler generates. */
export const EXCLUDED: unique symbol = Symbol('excluded');

/** A pattern that must not match. Likewise. */
export const UNMATCHED: unique symbol = Symbol('unmatched');

/** Internal members of schemas that the compiler generates. */
export interface Internal {
  [EXCLUDED]?: unknown;
  [UNMATCHED]?: string;
}

/** Keywords of some draft that are not enforced. Unknown keywords are annotations. */
const REFUSED = new Set(
  ['contains', 'minContains', 'maxContains', 'unevaluatedItems', 'unevaluatedProperties'].concat(
    '$dynamicRef',
    '$recursiveRef',
    'extends',
    'disallow',
    'divisibleBy',
  ),
);

/** Whether a value is a schema with keywords. */
export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isBound = (value: unknown): boolean => isNumber(value) || typeof value === 'boolean';
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string');
const isText = (value: unknown): boolean => typeof value === 'string';
const isList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
const isPositive = (value: unknown): boolean => isNumber(value) && Number(value) > 0;

const COUNT = { fits: isCount, must: 'must be a whole number that is not negative' };
const NUMBER = { fits: isNumber, must: 'must be a number' };
const BOUND = { fits: isBound, must: 'must be a number' };
const TEXT = { fits: isText, must: 'must be a text' };
const OBJECT = { fits: isSchema, must: 'must be an object' };
const SCHEMAS = { fits: isList, must: 'must be a list of schemas that has some' };

const VALUES: Readonly<Record<string, { fits(value: unknown): boolean; must: string }>> = {
  minLength: COUNT,
  maxLength: COUNT,
  minItems: COUNT,
  maxItems: COUNT,
  minProperties: COUNT,
  maxProperties: COUNT,
  minimum: NUMBER,
  maximum: NUMBER,
  exclusiveMinimum: BOUND,
  exclusiveMaximum: BOUND,
  multipleOf: { fits: isPositive, must: 'must be a number larger than 0' },
  pattern: TEXT,
  format: TEXT,
  $ref: TEXT,
  properties: OBJECT,
  patternProperties: OBJECT,
  dependentRequired: OBJECT,
  dependentSchemas: OBJECT,
  dependencies: OBJECT,
  required: { fits: isNames, must: 'must be a list of names' },
  uniqueItems: { fits: (value) => typeof value === 'boolean', must: 'must be true or false' },
  enum: { fits: Array.isArray, must: 'must be a list of values' },
  anyOf: SCHEMAS,
  oneOf: SCHEMAS,
  allOf: SCHEMAS,
  prefixItems: SCHEMAS,
  type: {
    fits: (value) =>
      (Array.isArray(value) ? value : [value]).every((type) => type === 'integer' || JSON_TYPES.includes(type)),
    must: 'must name JSON types',
  },
};

/** Throws `invalid_value` for a keyword that cannot be enforced or has an invalid value. */
export function requireSupportedKeywords({ schema, path }: SchemaPart): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    if (REFUSED.has(keyword)) throw notEnforced(`${path}.${keyword}`);
    const rule = Object.hasOwn(VALUES, keyword) ? VALUES[keyword] : undefined;
    if (rule?.fits(value) === false) throw new UnsupportedSchemaError(`${path}.${keyword}`, rule.must);
  }
}

/** An error for the keyword at `path`. */
export const notEnforced = (path: string): Error =>
  new UnsupportedSchemaError(path, 'is not supported: it cannot be enforced');

/** Returns the types that a schema allows, and whether numbers must be integers. */
export function schemaTypes(schema: Schema): { types: readonly JsonType[]; whole: boolean } {
  const value = schema['type'];
  if (value === undefined) return { types: JSON_TYPES, whole: false };
  const names = new Set((Array.isArray(value) ? value : [value]).map(String));
  const whole = names.has('integer') && !names.has('number');
  return { types: JSON_TYPES.filter((type) => names.has(type) || (type === 'number' && whole)), whole };
}

/** Returns the JSON type of a value. */
export function jsonType(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

/** Returns the values of `enum` or `const`; null when there are none. */
export function listedValues(schema: Schema): readonly unknown[] | null {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : null;
}

/** Returns an own property of an object. */
export const ownProperty = (object: unknown, name: string): unknown =>
  isSchema(object) && Object.hasOwn(object, name) ? object[name] : undefined;
