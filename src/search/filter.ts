import { collapseWhitespace } from '../lib/clean-text.ts';
import type { IndexedChunk } from './chunk-rows.ts';
import {
  type FieldValue,
  fieldLabel,
  fieldLabels,
  fieldRanges,
  parseIsoDate,
  type RangeKind,
  rangeColumn,
} from './field-values.ts';

/** A comparison of numbers or dates. */
export type RangeOperator = 'gt' | 'gte' | 'lt' | 'lte';

/** A filter condition. The conditions of a search are combined with AND. */
export type Condition =
  | { on: 'document_id' | 'document_name' | 'source_type'; value: string }
  /** The field has at least one of the values. */
  | { on: 'field'; key: string; is: 'in'; values: readonly FieldValue[] }
  /** The field has none of the values or is absent. */
  | { on: 'field'; key: string; is: 'notIn'; values: readonly FieldValue[] }
  /** All conditions of at least one group hold. Groups are not empty. */
  | { on: 'any'; groups: readonly (readonly Condition[])[] }
  /** `value` is a number or an ISO date. */
  | { on: 'field'; key: string; is: RangeOperator; value: number | string };

const OPERATORS: Record<RangeOperator, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };
const COMPARE: Record<RangeOperator, (value: number, bound: number) => boolean> = {
  gt: (value, bound) => value > bound,
  gte: (value, bound) => value >= bound,
  lt: (value, bound) => value < bound,
  lte: (value, bound) => value <= bound,
};

/** Matches nothing: an empty list of values, or an unknown column. */
const NEVER = 'false';

/**
 * Converts conditions to LanceDB's SQL; null without conditions. A comparison with a column that does not exist matches
 * nothing. Strings are always quoted literals.
 */
export function toSql(conditions: readonly Condition[], columns: ReadonlySet<string>): string | null {
  if (conditions.length === 0) return null;
  return conditions.map((condition) => `(${toClause(condition, columns)})`).join(' AND ');
}

function toClause(condition: Condition, columns: ReadonlySet<string>): string {
  if (condition.on === 'any')
    return condition.groups.map((group) => `(${toSql(group, columns) ?? NEVER})`).join(' OR ');
  if (condition.on !== 'field') return `${condition.on} = ${literal(collapseWhitespace(condition.value))}`;
  if (condition.is === 'in') return anyOf(condition.key, condition.values);
  if (condition.is === 'notIn') return `NOT (${anyOf(condition.key, condition.values)})`;
  const { column, bound } = rangeBound(condition.key, condition.value);
  if (bound === null || !columns.has(column)) return NEVER;
  return `${column} ${OPERATORS[condition.is]} cast('${bound}' as double)`;
}

/** The column and number that a comparison with a number or an ISO date uses; a null number: not a date. */
function rangeBound(key: string, value: number | string): { column: string; bound: number | null } {
  const kind: RangeKind = typeof value === 'number' ? 'number' : 'date';
  return { column: rangeColumn(key, kind), bound: typeof value === 'number' ? value : parseIsoDate(value) };
}

function anyOf(key: string, values: readonly FieldValue[]): string {
  const [first, ...others] = values.map((value) => literal(fieldLabel(key, value)));
  if (first === undefined) return NEVER;
  if (others.length === 0) return `array_has(labels, ${first})`;
  return `array_has_any(labels, make_array(${[first, ...others].join(', ')}))`;
}

/** Whether a chunk meets all conditions, as `toSql` decides for its row. */
export function meetsConditions(
  {
    documentId,
    documentName,
    sourceType,
    fields,
  }: Pick<IndexedChunk, 'documentId' | 'documentName' | 'sourceType' | 'fields'>,
  conditions: readonly Condition[],
): boolean {
  if (conditions.length === 0) return true;
  const columns = { document_id: documentId, document_name: collapseWhitespace(documentName), source_type: sourceType };
  const labels = new Set(fieldLabels(fields));
  const ranges = fieldRanges(fields);
  const meets = (condition: Condition): boolean => {
    if (condition.on === 'any') return condition.groups.some((group) => group.every(meets));
    if (condition.on !== 'field') return columns[condition.on] === collapseWhitespace(condition.value);
    const { key } = condition;
    if (condition.is === 'in') return condition.values.some((value) => labels.has(fieldLabel(key, value)));
    if (condition.is === 'notIn') return !condition.values.some((value) => labels.has(fieldLabel(key, value)));
    const { column, bound } = rangeBound(key, condition.value);
    const value = ranges.get(column);
    return value !== undefined && bound !== null && COMPARE[condition.is](value, bound);
  };
  return conditions.every(meets);
}

/** SQL condition that a column has one of the values. */
export function columnIn(column: 'id' | 'document_id', values: readonly string[]): string {
  return values.length === 0 ? NEVER : `${column} IN (${values.map(literal).join(', ')})`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
