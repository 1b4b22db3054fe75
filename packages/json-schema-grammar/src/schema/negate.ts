import { EXCLUDED, isSchema, JSON_TYPES, listedValues, type Schema, schemaTypes, UNMATCHED } from './keywords.ts';

/** Maximum nesting of negated schemas. */
const MAX_DEPTH = 8;
/** Keywords without constraints. */
const SILENT = new Set(
  ['title', 'description', 'default', 'examples', '$comment', '$schema', '$id', 'id', 'readOnly'].concat(
    'writeOnly',
    'deprecated',
    '$defs',
    'definitions',
  ),
);

/** Schemas of which at least one holds when another schema does not. */
export interface Negation {
  ways: unknown[];
  /** Whether the negation is exact; otherwise it excludes some values. */
  isExact: boolean;
}

const NONE: Negation = { ways: [], isExact: true };
const UNKNOWN: Negation = { ways: [], isExact: false };

/** Negates a schema. `resolve` resolves its references. */
export function negate(schema: unknown, resolve: (schema: Schema) => unknown, depth = 0): Negation {
  if (!isSchema(schema)) return schema === false ? { ways: [true], isExact: true } : NONE;
  if (depth > MAX_DEPTH) return UNKNOWN;
  const inner = (one: unknown): Negation => negate(one, resolve, depth + 1);
  return oneOf(
    Object.entries(schema).map(([keyword, value]) => {
      if (SILENT.has(keyword) || value === undefined) return NONE;
      return keyword === '$ref' ? inner(resolve(schema)) : negateKeyword(keyword, schema, inner);
    }),
  );
}

const oneOf = (found: readonly Negation[]): Negation => ({
  ways: found.flatMap(({ ways }) => ways),
  isExact: found.every(({ isExact }) => isExact),
});

const literalPattern = (...ways: unknown[]): Negation => ({ ways, isExact: true });

function negateKeyword(keyword: string, schema: Schema, inner: (one: unknown) => Negation): Negation {
  const value = schema[keyword];
  switch (keyword) {
    case 'type': {
      const { types, whole } = schemaTypes(schema);
      return { ways: [{ type: JSON_TYPES.filter((type) => !types.includes(type)) }], isExact: !whole };
    }
    case 'const':
    case 'enum':
      return literalPattern({ allOf: [true, ...(listedValues(schema) ?? []).map((one) => ({ [EXCLUDED]: one }))] });
    case 'not':
      return literalPattern(value);
    case 'pattern':
      return literalPattern({ type: 'string', [UNMATCHED]: value });
    case 'required':
      return literalPattern(...(value as string[]).map((name) => ({ type: 'object', properties: { [name]: false } })));
    case 'properties':
      return oneOf(
        Object.entries(isSchema(value) ? value : {}).map(([name, one]) => {
          const { ways, isExact } = inner(one);
          return {
            ways: ways.map((other) => ({ type: 'object', required: [name], properties: { [name]: other } })),
            isExact,
          };
        }),
      );
    case 'allOf':
      return oneOf((value as unknown[]).map(inner));
    case 'anyOf': {
      const negations = (value as unknown[]).map(inner);
      const all = negations.map(({ ways }) => (ways.length === 0 ? false : { anyOf: ways }));
      return { ways: [{ allOf: all }], isExact: negations.every(({ isExact }) => isExact) };
    }
    default:
      return negateBound(keyword, value);
  }
}

function negateBound(keyword: string, value: unknown): Negation {
  if (typeof value !== 'number') return UNKNOWN;
  const less = value - 1;
  switch (keyword) {
    case 'minimum':
      return literalPattern({ type: 'number', exclusiveMaximum: value });
    case 'maximum':
      return literalPattern({ type: 'number', exclusiveMinimum: value });
    case 'exclusiveMinimum':
      return literalPattern({ type: 'number', maximum: value });
    case 'exclusiveMaximum':
      return literalPattern({ type: 'number', minimum: value });
    case 'minLength':
      return value === 0 ? NONE : literalPattern({ type: 'string', maxLength: less });
    case 'maxLength':
      return literalPattern({ type: 'string', minLength: value + 1 });
    case 'minItems':
      return value === 0 ? NONE : literalPattern({ type: 'array', maxItems: less });
    case 'maxItems':
      return literalPattern({ type: 'array', minItems: value + 1 });
    default:
      return UNKNOWN;
  }
}
