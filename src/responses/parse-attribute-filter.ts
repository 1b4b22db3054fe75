import { type Static, Type } from 'typebox';
import { invalidValue, missingField } from '../errors.ts';
import { parseOperation } from '../knowledge-bases/retrieval/parse-filters.ts';
import type { Condition } from '../search/filter.ts';

const COMPARISONS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const;
const COMPOUNDS = ['and', 'or'] as const;

/** Comparisons of one filter: each is compared with every chunk. */
const MAX_COMPARISONS = 64;
/** Nesting of one filter: the conditions become nested SQL. */
const MAX_DEPTH = 4;

/** Field `filters` of `file_search` in OpenAI's form. Its nesting is checked by `parseAttributeFilter`. */
export const AttributeFilter = Type.Object(
  {
    type: Type.Enum([...COMPARISONS, ...COMPOUNDS], { type: 'string' }),
    key: Type.Optional(Type.String({ minLength: 1, description: 'Metadata field.' })),
    value: Type.Optional(Type.Unknown()),
    filters: Type.Optional(Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_COMPARISONS })),
  },
  { description: 'A comparison (`key`, `value`), or `and` and `or` with `filters`.' },
);

export type AttributeFilter = Static<typeof AttributeFilter>;

/** Converts a filter to conditions that must all hold. Throws 400 naming the path. */
export function parseAttributeFilter(filter: AttributeFilter, path: string): Condition[] {
  let comparisons = 0;
  const parse = (each: unknown, at: string, depth: number): Condition[] => {
    if (depth > MAX_DEPTH) throw invalidValue(at, `must not be nested more than ${MAX_DEPTH} levels deep`);
    const { type, key, value, filters } = requireFilter(each, at);
    if (type === 'and' || type === 'or') {
      if (!Array.isArray(filters)) throw missingField(`${at}.filters`);
      if (filters.length === 0) throw invalidValue(`${at}.filters`, 'must not be empty');
      const groups = filters.map((one, index) => parse(one, `${at}.filters.${index}`, depth + 1));
      return type === 'and' ? groups.flat() : [{ on: 'any', groups }];
    }
    comparisons += 1;
    if (comparisons > MAX_COMPARISONS) throw invalidValue(path, `must have at most ${MAX_COMPARISONS} comparisons`);
    if (key === undefined) throw missingField(`${at}.key`);
    if (value === undefined) throw missingField(`${at}.value`);
    if (typeof key !== 'string' || key === '') throw invalidValue(`${at}.key`, 'must be a string');
    const isList = type === 'in' || type === 'nin';
    if (isList !== Array.isArray(value))
      throw invalidValue(`${at}.value`, isList ? 'must be a list' : 'must not be a list');
    return [parseOperation(key, [type === 'nin' ? '$ne' : `$${type}`, value], `${at}.value`)];
  };
  return parse(filter, path, 1);
}

function requireFilter(value: unknown, path: string) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidValue(path, 'must be an object');
  const { type, key, value: operand, filters } = value as Record<string, unknown>;
  if (type === undefined) throw missingField(`${path}.type`);
  const operator = [...COMPARISONS, ...COMPOUNDS].find((each) => each === type);
  if (operator === undefined)
    throw invalidValue(`${path}.type`, `must be one of ${[...COMPARISONS, ...COMPOUNDS].join(', ')}`);
  return { type: operator, key, value: operand, filters };
}
