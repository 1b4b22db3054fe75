import { STORED_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { invalidValue } from '../../errors.ts';
import { isRecord } from '../../lib/json.ts';
import { type FieldValue, parseIsoDate } from '../../search/field-values.ts';
import type { Condition, RangeOperator } from '../../search/filter.ts';

/** Maximum values of one list. */
const MAX_VALUES = 1000;
/** Maximum metadata fields of one search. */
const MAX_FIELDS = 64;
/** Maximum groups of `$or`. */
const MAX_GROUPS = 16;
/** Maximum values of all lists: each is compared with every chunk, and 64,000 took seconds. */
const MAX_TOTAL_VALUES = 2000;

const COMPARISONS: Record<string, RangeOperator> = { $gt: 'gt', $gte: 'gte', $lt: 'lt', $lte: 'lte' };

/** Converts the `filters` of a request to conditions. Throws 400 `invalid_value` naming the path. */
export function parseFilters(filters: Record<string, unknown>, at = 'filters'): Condition[] {
  return Object.entries(filters).flatMap(([name, value]): Condition[] => {
    const path = `${at}.${name}`;
    switch (name) {
      case 'document_id':
      case 'document_name':
        return [{ on: name, value: parseString(value, path) }];
      case 'source_type':
        return [{ on: name, value: parseSourceType(value, path) }];
      case 'metadata':
        return parseFields(value, path);
      case '$or':
        return [parseGroups(value, path)];
      default:
        throw invalidValue(
          path,
          "is not a filter; the filters are 'document_name', 'document_id', 'source_type', 'metadata' and '$or'",
        );
    }
  });
}

function parseGroups(value: unknown, path: string): Condition {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_GROUPS) {
    throw invalidValue(path, `must be a list of 1 to ${MAX_GROUPS} objects with filters`);
  }
  const groups = value.map((group, i) => {
    if (!isRecord(group) || Object.keys(group).length === 0) {
      throw invalidValue(`${path}.${i}`, 'must be an object with at least one filter');
    }
    if ('$or' in group) throw invalidValue(`${path}.${i}.$or`, "must not be inside of another '$or'");
    return parseFilters(group, `${path}.${i}`);
  });
  requireFewValues(groups.flat(), path);
  return { on: 'any', groups };
}

function parseString(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw invalidValue(path, 'must be a string');
  return value;
}

function parseSourceType(value: unknown, path: string): string {
  const type = STORED_SOURCE_TYPES.find((known) => known === value);
  if (type === undefined) throw invalidValue(path, `must be one of ${STORED_SOURCE_TYPES.join(', ')}`);
  return type;
}

function parseFields(value: unknown, path: string): Condition[] {
  if (!isRecord(value)) throw invalidValue(path, 'must be an object');
  const fields = Object.entries(value);
  if (fields.length > MAX_FIELDS) throw invalidValue(path, `must have at most ${MAX_FIELDS} fields`);
  const conditions = fields.flatMap(([key, filter]) => parseField(key, filter, `${path}.${key}`));
  requireFewValues(conditions, path);
  return conditions;
}

function requireFewValues(conditions: readonly Condition[], path: string): void {
  const values = conditions.reduce((sum, condition) => sum + ('values' in condition ? condition.values.length : 1), 0);
  if (values > MAX_TOTAL_VALUES) throw invalidValue(path, `must have at most ${MAX_TOTAL_VALUES} values in all lists`);
}

function parseField(key: string, filter: unknown, path: string): Condition[] {
  if (!isRecord(filter)) return [{ on: 'field', key, is: 'in', values: parseValues(filter, path) }];
  const operators = Object.entries(filter);
  if (operators.length === 0) throw invalidValue(path, 'must have an operator, such as $eq');
  return operators.map(([operator, operand]) => parseOperation(key, [operator, operand], `${path}.${operator}`));
}

/** Converts one comparison of a metadata field. Throws 400 `invalid_value` naming the path. */
export function parseOperation(key: string, [operator, operand]: [string, unknown], path: string): Condition {
  const comparison = COMPARISONS[operator];
  if (comparison !== undefined) return { on: 'field', key, is: comparison, value: parseBound(operand, path) };
  if (operator === '$eq') return { on: 'field', key, is: 'in', values: parseValues(operand, path) };
  if (operator === '$ne') return { on: 'field', key, is: 'notIn', values: parseValues(operand, path) };
  if (operator !== '$in')
    throw invalidValue(path, 'is not an operator; the operators are $eq, $ne, $gt, $gte, $lt, $lte and $in');
  if (!Array.isArray(operand)) throw invalidValue(path, 'must be a list');
  return { on: 'field', key, is: 'in', values: parseValues(operand, path) };
}

/** Parses a number or an ISO 8601 date, which have an order. */
function parseBound(operand: unknown, path: string): number | string {
  if (typeof operand === 'number') return operand;
  if (typeof operand === 'string' && parseIsoDate(operand) !== null) return operand;
  throw invalidValue(path, 'must be a number or a date such as 2024-05-01');
}

function parseValues(operand: unknown, path: string): FieldValue[] {
  if (!Array.isArray(operand)) return [parseValue(operand, path)];
  if (operand.length > MAX_VALUES) throw invalidValue(path, `must have at most ${MAX_VALUES} values`);
  return operand.map((value, i) => parseValue(value, `${path}.${i}`));
}

function parseValue(value: unknown, path: string): FieldValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw invalidValue(path, 'must be a string, number or boolean');
}
