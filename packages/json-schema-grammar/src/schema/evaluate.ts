import { matchesText } from './automaton.ts';
import type { SchemaDocument } from './document.ts';
import { formatBits, formatPattern } from './formats.ts';
import {
  EXCLUDED,
  type Internal,
  isSchema,
  jsonType,
  listedValues,
  ownProperty,
  type Schema,
  schemaTypes,
  UNMATCHED,
} from './keywords.ts';
import { patternLanguage } from './pattern-language.ts';

/** Maximum nested references per value. */
const MAX_DEPTH = 100;
/** Tolerance of quotients for `multipleOf`: decimals have no exact doubles. */
const STEP_TOLERANCE = 1e-9;

/** Validates single values against schemas, to filter enumerations. */
export class Evaluator {
  readonly #document: SchemaDocument;
  readonly #lists = new WeakMap<Schema, ReadonlySet<string>>();

  constructor(document: SchemaDocument) {
    this.#document = document;
  }

  accepts(schema: unknown, value: unknown, depth = 0): boolean {
    if (!isSchema(schema)) return schema !== false;
    // A circular reference adds no constraint.
    if (depth > MAX_DEPTH) return true;
    const inner = (one: unknown): boolean => this.accepts(one, value, depth + 1);
    const list = (keyword: string): unknown[] => (Array.isArray(schema[keyword]) ? (schema[keyword] as unknown[]) : []);
    if (typeof schema['$ref'] === 'string') {
      if (!inner(this.#document.resolve(schema['$ref'], schema, '$ref').schema)) return false;
    }
    if (!list('allOf').every(inner)) return false;
    if (schema['anyOf'] !== undefined && !list('anyOf').some(inner)) return false;
    if (schema['oneOf'] !== undefined && list('oneOf').filter(inner).length !== 1) return false;
    if (schema['if'] !== undefined && !inner((inner(schema['if']) ? schema['then'] : schema['else']) ?? true))
      return false;
    if (jsonType(value) === 'object' && !this.#dependents(schema, value as Schema, depth)) return false;
    return this.ownAccepts(schema, value, depth);
  }

  /** Whether the keywords of `schema` itself accept a value, without references and combinators. */
  ownAccepts(schema: Schema, value: unknown, depth = 0): boolean {
    const type = jsonType(value);
    const { types, whole } = schemaTypes(schema);
    if (!types.includes(type)) return false;
    if (this.#listed(schema)?.has(canonical(value)) === false) return false;
    const { [EXCLUDED]: excluded, [UNMATCHED]: unmatched } = schema as Internal;
    if (EXCLUDED in schema && isSame(excluded, value)) return false;
    if (unmatched !== undefined && typeof value === 'string' && matchesText(patternLanguage(unmatched), value))
      return false;
    if (typeof value === 'number') return (!whole || Number.isInteger(value)) && numberFits(schema, value);
    if (typeof value === 'string') return textFits(schema, value);
    if (Array.isArray(value)) return this.#arrayFits(schema, value, depth);
    return type !== 'object' || this.#objectFits(schema, value as Schema, depth);
  }

  /** The enumerated values of a schema as a set of canonical texts; null when it has none. */
  #listed(schema: Schema): ReadonlySet<string> | null {
    const values = listedValues(schema);
    if (values === null) return null;
    const canonicalValues = this.#lists.get(schema) ?? new Set(values.map(canonical));
    this.#lists.set(schema, canonicalValues);
    return canonicalValues;
  }

  #dependents(schema: Schema, value: Schema, depth: number): boolean {
    const maps = [schema['dependencies'], schema['dependentRequired'], schema['dependentSchemas']];
    return maps.every((map) =>
      Object.entries(isSchema(map) ? map : {}).every(([name, asked]) => {
        if (!Object.hasOwn(value, name)) return true;
        return Array.isArray(asked)
          ? asked.every((other) => Object.hasOwn(value, String(other)))
          : this.accepts(asked, value, depth + 1);
      }),
    );
  }

  #arrayFits(schema: Schema, value: readonly unknown[], depth: number): boolean {
    if (!within(value.length, schema['minItems'], schema['maxItems'])) return false;
    if (schema['uniqueItems'] === true && new Set(value.map(canonical)).size < value.length) return false;
    return value.every((item, i) => this.accepts(itemSchema(schema, i), item, depth + 1));
  }

  #objectFits(schema: Schema, value: Schema, depth: number): boolean {
    const names = Object.keys(value);
    if (!within(names.length, schema['minProperties'], schema['maxProperties'])) return false;
    const required = Array.isArray(schema['required']) ? schema['required'] : [];
    if (!required.every((name) => Object.hasOwn(value, String(name)))) return false;
    return names.every(
      (name) =>
        this.accepts(schema['propertyNames'] ?? true, name, depth + 1) &&
        schemasOfMember(schema, name).every((one) => this.accepts(one, value[name], depth + 1)),
    );
  }
}

/** Returns the schema of the item at an index, in any draft. */
export function itemSchema(schema: Schema, index: number): unknown {
  const { items } = schema as { items?: unknown };
  const tuple = schema['prefixItems'] ?? items;
  if (!Array.isArray(tuple)) return items ?? true;
  if (index < tuple.length) return tuple[index];
  return (schema['prefixItems'] === undefined ? schema['additionalItems'] : items) ?? true;
}

/** Returns the schemas of a member. */
export function schemasOfMember(schema: Schema, name: string): unknown[] {
  const listed = ownProperty(schema['properties'], name);
  const patterns = Object.entries(isSchema(schema['patternProperties']) ? schema['patternProperties'] : {});
  const matching = patterns.filter(([source]) => matchesText(patternLanguage(source), name)).map(([, one]) => one);
  if (listed !== undefined) return [listed, ...matching];
  return matching.length > 0 ? matching : [schema['additionalProperties'] ?? true];
}

const within = (count: number, least: unknown, most: unknown): boolean =>
  !(typeof least === 'number' && count < least) && !(typeof most === 'number' && count > most);

function textFits(schema: Schema, value: string): boolean {
  const { minLength, maxLength } = schema as Record<string, unknown>;
  const isLimited = minLength !== undefined || maxLength !== undefined;
  if (isLimited && !within(Array.from(value).length, minLength, maxLength)) return false;
  const format = typeof schema['format'] === 'string' ? formatPattern(schema['format']) : null;
  const patterns = [schema['pattern'], format].filter((one) => typeof one === 'string');
  return patterns.every((source) => matchesText(patternLanguage(source), value));
}

function numberFits(schema: Schema, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<string, unknown>;
  const bits = formatBits(schema['format']);
  if (bits !== null && (!Number.isInteger(value) || value < -(2 ** (bits - 1)) || value >= 2 ** (bits - 1)))
    return false;
  if (typeof minimum === 'number' && (value < minimum || (exclusiveMinimum === true && value === minimum)))
    return false;
  if (typeof maximum === 'number' && (value > maximum || (exclusiveMaximum === true && value === maximum)))
    return false;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false;
  if (typeof multipleOf !== 'number') return true;
  const quotient = value / multipleOf;
  return Math.abs(quotient - Math.round(quotient)) < STEP_TOLERANCE;
}

/** Returns a text that is equal for equal values, whatever the order of their members. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isSchema(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && typeof b === 'object' && canonical(a) === canonical(b));
