import { literal } from '../grammar.ts';
import { type Counts, numberLimits } from './bounds.ts';
import type { Case } from './cases.ts';
import type { Emitter, Leaf } from './emitter.ts';
import { canonical } from './evaluate.ts';
import { type Located, listedValues, notEnforced } from './keywords.ts';
import { possibleTypes } from './possible.ts';

/** Maximum distinct values whose subsets are tracked: each subset is a rule. */
const MAX_DISTINCT = 8;
/** Maximum distinct values that are kept in the order of the schema: a rule for each value and count. */
const MAX_ORDERED = 64;
/** Maximum rules of a tuple: one for each position and set of values that are used before it. */
const MAX_TUPLE_RULES = 2_000;

/** Schemas of the items of an array. */
export interface ItemList extends Counts {
  /** Schemas of the first items, by position. */
  positions: readonly Located[][];
  /** Schemas of the items behind them; null: there are none. */
  rest: Located[] | null;
  path: string;
}

/** How unique items are enforced: by a rule (null: there is no such array), or by the types of items alone. */
export type UniqueItems = { leaf: Leaf | null } | { independent: ItemList };

/**
 * Compiles `uniqueItems`. Throws for `path` where a tuple cannot be enforced. A grammar cannot compare items, so they
 * must have enumerated values, or values that exclude each other. Lists of other items are not kept from repeating them
 * (docs/develop/decisions/0005-schema-compiler.md).
 */
export function uniqueItemsRule(emitter: Emitter, list: ItemList, path: string): UniqueItems {
  const rest = list.rest === null ? [] : distinctValues(emitter, list.rest);
  if (list.positions.length === 0) {
    return rest === null ? { independent: list } : { leaf: distinctList(emitter, rest, list) };
  }
  // Further items that are not enumerated are left out.
  if (rest === null && list.least > list.positions.length) throw notEnforced(path);
  const positions = list.positions.map((schemas) => distinctValues(emitter, schemas));
  if (positions.every((values) => values !== null)) {
    return { leaf: distinctTuple(emitter, { ...list, values: positions, others: rest ?? [], path }) };
  }
  const { positions: all } = list;
  const mayRepeat = all.some((a, i) => all.slice(i + 1).some((b) => emitter.casesOf([...a, ...b]).length > 0));
  if (mayRepeat) throw notEnforced(path);
  return { independent: { ...list, rest: null } };
}

/** Values of which each may occur once in an array; null when they are not enumerated, or too many. */
function distinctValues({ casesOf, evaluator }: Emitter, items: readonly Located[]): unknown[] | null {
  const listed = casesOf(items).map(enumerated);
  if (listed.some((list) => list === null)) return null;
  const values = new Map(listed.flatMap((list) => list ?? []).map((value) => [canonical(value), value]));
  const accepted = [...values.values()].filter((value) =>
    items.every(({ schema }) => evaluator.accepts(schema, value)),
  );
  return accepted.length > MAX_ORDERED ? null : accepted;
}

/** Values that a case accepts at most; null when there is no short list of them. */
function enumerated(parts: Case): readonly unknown[] | null {
  const list = parts.map(({ schema }) => listedValues(schema)).find((values) => values !== null);
  if (list !== undefined) return list;
  const values: unknown[] = [];
  for (const type of possibleTypes(parts)) {
    const some =
      type === 'boolean' ? [true, false] : type === 'null' ? [null] : type === 'number' ? integers(parts) : null;
    if (some === null) return null;
    values.push(...some);
  }
  return values;
}

/** The integers of a short range; null for other numbers. */
function integers(parts: Case): number[] | null {
  const { whole, minimum, maximum } = numberLimits(parts);
  if (!whole || minimum === null || maximum === null || maximum - minimum > MAX_ORDERED) return null;
  const first = Math.ceil(minimum);
  return Array.from({ length: Math.max(0, Math.floor(maximum) - first + 1) }, (_, i) => first + i);
}

/**
 * Enumerated items: one rule per set of remaining values, so that all orders are possible. More values keep the
 * order of the schema, with one rule per value and count.
 */
function distinctList({ builder }: Emitter, values: readonly unknown[], { least, most, path }: ItemList): Leaf | null {
  const limit = Math.min(most ?? values.length, values.length);
  if (least > limit) return null;
  const ws = builder.json('ws');
  const keepsOrder = values.length > MAX_DISTINCT;
  // Counts above this need no rules of their own.
  const counted = Math.max(1, least, limit < values.length ? limit : 0);
  const names = new Map<string, string>();
  const from = (left: readonly unknown[], taken: number): string => {
    const key = `${taken} ${canonical(left)}`;
    const rule = names.get(key);
    if (rule !== undefined) return rule;
    const take = (value: unknown, others: readonly unknown[]): string =>
      `${taken === 0 ? '' : `"," ${ws} `}${literal(JSON.stringify(value))} ${from(others, Math.min(taken + 1, counted))}`;
    const mayTake = limit === values.length || taken < limit;
    const [first, ...later] = left;
    const ways = keepsOrder
      ? left.length === 0
        ? []
        : [...(mayTake ? [take(first, later)] : []), ...(taken + later.length >= least ? [from(later, taken)] : [])]
      : mayTake
        ? left.map((value) =>
            take(
              value,
              left.filter((other) => other !== value),
            ),
          )
        : [];
    if (taken >= least && (left.length === 0 || !keepsOrder)) ways.push('""');
    const made = builder.intern('set', ways.join(' | '), path);
    names.set(key, made);
    return made;
  };
  return { rule: builder.intern('array', `"[" ${ws} ${from(values, 0)} ${ws} "]"`, path), needs: [] };
}

interface Tuple extends Counts {
  /** Values by position. */
  values: readonly (readonly unknown[])[];
  /** Values of further items. */
  others: readonly unknown[];
  path: string;
}

/** Tuples of enumerated items: one rule per position and set of used values that later positions accept. */
function distinctTuple({ builder }: Emitter, { values, others, least, most, path }: Tuple): Leaf | null {
  const ws = builder.json('ws');
  const at = (position: number): readonly unknown[] => values[position] ?? others;
  const texts = (position: number): string[] => at(position).map((value) => canonical(value));
  const names = new Map<string, string | null>();
  /** Null: the array cannot be completed. */
  const from = (position: number, used: readonly string[]): string | null => {
    const later = new Set(
      Array.from({ length: Math.max(1, values.length - position + 1) }, (_, i) => texts(position + i)).flat(),
    );
    const relevant = used.filter((text) => later.has(text)).sort();
    const key = JSON.stringify([Math.min(position, Math.max(values.length, least, most ?? 0)), relevant]);
    const rule = names.get(key);
    if (rule !== undefined) return rule;
    if (names.size >= MAX_TUPLE_RULES) throw notEnforced(path);
    const ways =
      most !== null && position >= most
        ? []
        : at(position).flatMap((value) => {
            const text = canonical(value);
            const next = relevant.includes(text) ? null : from(position + 1, [...relevant, text]);
            return next === null
              ? []
              : [`${position === 0 ? '' : `"," ${ws} `}${literal(JSON.stringify(value))} ${next}`];
          });
    if (position >= least) ways.push('""');
    const made = ways.length === 0 ? null : builder.intern('set', ways.join(' | '), path);
    names.set(key, made);
    return made;
  };
  const items = from(0, []);
  return items === null ? null : { rule: builder.intern('array', `"[" ${ws} ${items} ${ws} "]"`, path), needs: [] };
}
