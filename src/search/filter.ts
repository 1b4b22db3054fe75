import { collapseWhitespace } from '../lib/clean-text.ts';
import { dateOf, type FieldValue, labelOf, rangeColumnOf } from './field-values.ts';

/** How a number or a date of a field is compared. */
export type Comparison = 'gt' | 'gte' | 'lt' | 'lte';

/** One thing that a chunk must be. All conditions of a search hold together. */
export type Condition =
  | { on: 'document_id' | 'document_name' | 'source_type'; value: string }
  /** The field has one of the values; a field with several values needs one of them only. */
  | { on: 'field'; key: string; is: 'in'; values: readonly FieldValue[] }
  /** The field has none of the values, or is absent. */
  | { on: 'field'; key: string; is: 'notIn'; values: readonly FieldValue[] }
  /** `value` is a number or an ISO date. */
  | { on: 'field'; key: string; is: Comparison; value: number | string };

const SIGNS: Record<Comparison, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

/** Matches nothing, which an empty list of values or an unknown column comes to. */
const NEVER = 'false';

/**
 * The conditions as LanceDB's SQL; null where there are none. A comparison over a column that no chunk has yet, because no
 * document has such a value, matches nothing. Texts are written as literals, never as SQL.
 */
export function whereOf(conditions: readonly Condition[], columns: ReadonlySet<string>): string | null {
  if (conditions.length === 0) return null;
  return conditions.map((condition) => `(${clauseOf(condition, columns)})`).join(' AND ');
}

function clauseOf(condition: Condition, columns: ReadonlySet<string>): string {
  if (condition.on !== 'field') return `${condition.on} = ${literal(collapseWhitespace(condition.value))}`;
  if (condition.is === 'in') return anyOf(condition.key, condition.values);
  if (condition.is === 'notIn') return `NOT (${anyOf(condition.key, condition.values)})`;
  const { key, is, value } = condition;
  const bound = typeof value === 'number' ? value : dateOf(value);
  const column = rangeColumnOf(key, typeof value === 'number' ? 'number' : 'date');
  if (bound === null || !columns.has(column)) return NEVER;
  return `${column} ${SIGNS[is]} cast('${bound}' as double)`;
}

function anyOf(key: string, values: readonly FieldValue[]): string {
  const [first, ...others] = values.map((value) => literal(labelOf(key, value)));
  if (first === undefined) return NEVER;
  if (others.length === 0) return `array_has(labels, ${first})`;
  return `array_has_any(labels, make_array(${[first, ...others].join(', ')}))`;
}

/** The condition that a column is one of the texts. */
export function oneOf(column: 'id' | 'document_id', values: readonly string[]): string {
  return values.length === 0 ? NEVER : `${column} IN (${values.map(literal).join(', ')})`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
