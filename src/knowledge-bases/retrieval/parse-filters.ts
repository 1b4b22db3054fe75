import { invalidValue } from '../../errors.ts';
import { dateOf, type FieldValue } from '../../search/field-values.ts';
import type { Comparison, Condition } from '../../search/filter.ts';
import { DATA_SOURCE_TYPES } from '../source-types.ts';

/** Values of one list. More belong into a field of their own. */
const MAX_VALUES = 1000;
/** Fields of one search. */
const MAX_FIELDS = 64;
/** Values of all lists of one search: each is a comparison with every chunk, and 64,000 of them took seconds. */
const MAX_ALL_VALUES = 2000;

const COMPARISONS: Record<string, Comparison> = { $gt: 'gt', $gte: 'gte', $lt: 'lt', $lte: 'lte' };

/** The conditions of a search from `filters` as it came. Throws 400 `invalid_value` naming the path that is wrong. */
export function parseFilters(filters: Record<string, unknown>, at = 'filters'): Condition[] {
  return Object.entries(filters).flatMap(([name, value]): Condition[] => {
    const path = `${at}.${name}`;
    switch (name) {
      case 'document_id':
      case 'document_name':
        return [{ on: name, value: textOf(value, path) }];
      case 'source_type':
        return [{ on: name, value: sourceTypeOf(value, path) }];
      case 'metadata':
        return fieldsOf(value, path);
      default:
        throw invalidValue(
          path,
          "is no filter; there are 'document_name', 'document_id', 'source_type' and 'metadata'",
        );
    }
  });
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw invalidValue(path, 'must be a text');
  return value;
}

function sourceTypeOf(value: unknown, path: string): string {
  const type = DATA_SOURCE_TYPES.find((known) => known === value);
  if (type === undefined) throw invalidValue(path, `must be one of ${DATA_SOURCE_TYPES.join(', ')}`);
  return type;
}

function fieldsOf(value: unknown, path: string): Condition[] {
  if (!isObject(value)) throw invalidValue(path, 'must be an object');
  const fields = Object.entries(value);
  if (fields.length > MAX_FIELDS) throw invalidValue(path, `must have at most ${MAX_FIELDS} fields`);
  const conditions = fields.flatMap(([key, wanted]) => fieldConditions(key, wanted, `${path}.${key}`));
  const values = conditions.reduce((sum, condition) => sum + ('values' in condition ? condition.values.length : 1), 0);
  if (values > MAX_ALL_VALUES) throw invalidValue(path, `must have at most ${MAX_ALL_VALUES} values in all its lists`);
  return conditions;
}

function fieldConditions(key: string, wanted: unknown, path: string): Condition[] {
  if (!isObject(wanted)) return [{ on: 'field', key, is: 'in', values: valuesOf(wanted, path) }];
  const operators = Object.entries(wanted);
  if (operators.length === 0) throw invalidValue(path, 'must have an operator, such as $eq');
  return operators.map(([operator, operand]) => operation(key, [operator, operand], `${path}.${operator}`));
}

function operation(key: string, [operator, operand]: [string, unknown], path: string): Condition {
  const comparison = COMPARISONS[operator];
  if (comparison !== undefined) return { on: 'field', key, is: comparison, value: boundOf(operand, path) };
  if (operator === '$eq') return { on: 'field', key, is: 'in', values: valuesOf(operand, path) };
  if (operator === '$ne') return { on: 'field', key, is: 'notIn', values: valuesOf(operand, path) };
  if (operator !== '$in') throw invalidValue(path, 'is no operator; there are $eq, $ne, $gt, $gte, $lt, $lte and $in');
  if (!Array.isArray(operand)) throw invalidValue(path, 'must be a list');
  return { on: 'field', key, is: 'in', values: valuesOf(operand, path) };
}

/** A number, or a date in ISO 8601: what has an order. */
function boundOf(operand: unknown, path: string): number | string {
  if (typeof operand === 'number') return operand;
  if (typeof operand === 'string' && dateOf(operand) !== null) return operand;
  throw invalidValue(path, 'must be a number or a date such as 2024-05-01');
}

function valuesOf(operand: unknown, path: string): FieldValue[] {
  if (!Array.isArray(operand)) return [fieldValueOf(operand, path)];
  if (operand.length > MAX_VALUES) throw invalidValue(path, `must have at most ${MAX_VALUES} values`);
  return operand.map((value, i) => fieldValueOf(value, `${path}.${i}`));
}

function fieldValueOf(value: unknown, path: string): FieldValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw invalidValue(path, 'must be a text, a number, true or false');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
